import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import type { Effect } from '../../../store/write.ts';
import { listPlacesById, type Place } from '../../resource/by-ids.store.ts';
import { type BrokerCaller, RECOVERY_USER } from '../../resource/caller.ts';
import { type FieldErrors, refuseField } from '../../resource/field-errors.ts';
import {
  canonicalGrant,
  faultOfGrantLengths,
  grantJson,
  parseGrant,
} from '../../resource/grants/grant.ts';
import { type RoleBody, roleFields } from '../../resource/grants/role.ts';
import type { Definition, Item } from '../../resource/handler.ts';
import { checkIds, idsOf } from '../../resource/links/fields.ts';
import { changeLinks } from '../../resource/links/operations.ts';
import { type LinkChange, planLinks } from '../../resource/links/plan.ts';
import { showLinked } from '../../resource/links/shown.operations.ts';
import { commitChange, requireVersion } from '../../resource/operations.ts';
import { isBound } from '../../resource/org-bounds/bounds.ts';
import { faultOfRoom, sizeOfGrants, sizeOfRole } from '../../resource/org-bounds/grant-room.ts';
import {
  faultOfOrg,
  holdNumberOf,
  holdPrincipals,
  type InScope,
  orgOf,
} from '../../resource/org-bounds/store.ts';
import type { Resource } from '../../resource/resource.ts';
import { readScopeTree, requireScope } from '../../resource/scope-tree/operations.ts';
import { isIdOf } from '../../resource/types.ts';
import { endBeforehand } from '../removal.operations.ts';
import { faultOfGrantScope, planGrantScopes } from './grant-scopes.ts';
import { holdRoom, type RolePlace, sumGrants } from './store.ts';

const READ_ONLY = [
  'principals',
  'principal_ids',
  'grant_strings',
  'grants',
  'grant_scope_ids',
] as const;

export const roleDefinition: Definition = {
  type: 'role',
  containerField: 'scope_id',
  fields: roleFields,
  cached: true,
  words: { stale: 'Role "%" doesn\'t exist or incorrect version provided.' },

  chooseSubtype: () => 'role',
  checkNew(item, _subtype, errors) {
    if (!isIdOf(String(item.scope_id ?? ''), 'scope')) {
      errors.add('scope_id', 'Improperly formatted field.');
    }
    refuseReadOnly(item, errors);
  },
  async planNew(app, _caller, { container: { scope } }) {
    const full = await faultOfOrg(app.db, 'role', scope, 1);
    if (full !== undefined) refuseField('scope_id', full);
    const body: RoleBody = { grant_strings: [], grant_scope_ids: ['this'] };
    const room = await planRoom(app, scope, sizeOfGrants(body), 'scope_id');
    return { body, effects: [...holdNumberOf('role', scope), ...room] };
  },
  updatable: () => [],
  checkChange: (item, _request, errors) => refuseReadOnly(item, errors),
  async planChange(app, _caller, { resource, container: { scope }, mask }) {
    return { effects: await planRoom(app, scope, moreOnceChanged(resource), mask[0] ?? 'name') };
  },

  endBeforehand,
  async describe(app, _caller, roles, how) {
    return Promise.all(
      roles.map(async ({ id, body }) => {
        const { grant_scope_ids, grant_strings } = body as RoleBody;
        if (how === 'list') return omitEmpty({ grant_scope_ids });
        const of = { from_id: id, kind: 'role-principal' } as const;
        const principals = await showLinked(app, of, showPrincipal);
        return omitEmpty({
          grant_scope_ids,
          principal_ids: principals.map((principal) => principal.id),
          principals,
          grant_strings,
          grants: grant_strings.map(describeGrant),
        });
      }),
    );
  },
};

function refuseReadOnly(item: Item, errors: FieldErrors): void {
  for (const field of READ_ONLY) {
    if (item[field] !== undefined) errors.add(field, 'This is a read only field.');
  }
}

/** @see B-43 */
function describeGrant(raw: string): Record<string, unknown> {
  const reading = parseGrant(raw);
  if (!reading.valid) return { raw };
  return { raw, canonical: canonicalGrant(reading.grant), json: grantJson(reading.grant) };
}

const showPrincipal = ({ id, type, scope_id }: Place) => ({
  id,
  type: type === 'managed-group' ? 'managed group' : type,
  scope_id,
});

interface VerbRequest {
  resource: Resource;
  item: Item;
}

const PRINCIPALS = 'principal_ids';

export function checkPrincipals(change: LinkChange) {
  return (item: Item, errors: FieldErrors): void =>
    checkIds(item, errors, { field: PRINCIPALS, change, faultOf: faultOfPrincipal });
}

/** @see B-42 */
function faultOfPrincipal(id: string): string | undefined {
  if (id === RECOVERY_USER) return 'u_recovery cannot be assigned to a role';
  if (id === 'u_anon' || id === 'u_auth') return undefined;
  if (isIdOf(id, 'user') || isIdOf(id, 'group') || isIdOf(id, 'managed-group')) return undefined;
  return 'Must only have valid user, group, and/or managed group ids.';
}

/** Adds, replaces or removes those a role's grants are for. */
export function changePrincipals(change: LinkChange) {
  return async (
    app: App,
    caller: BrokerCaller,
    { resource, item }: VerbRequest,
  ): Promise<Resource> => {
    const message = `Unable to ${change} principals on role ${resource.id}.`;
    const scope = await requireScope(app, resource.scope_id);
    return changeLinks(app, caller, roleDefinition, {
      resource,
      version: item.version ?? 0,
      change,
      kind: 'role-principal',
      ids: idsOf(item, PRINCIPALS),
      field: PRINCIPALS,
      message,
      async requireLinkable(ids) {
        const known = new Set((await listPlacesById(app.db, ids)).map(({ id }) => id));
        const unknown = ids.find((id) => !known.has(id));
        if (unknown !== undefined) {
          refuseField(PRINCIPALS, `There is no principal "${unknown}".`, message);
        }
      },
      async requireRoom({ added, removed }) {
        // Whoever is to have a role no more is taken from it whether there is room or not.
        if (added.length > 0) {
          await planRoom(app, scope, moreOnceChanged(resource), PRINCIPALS, message);
        }
        const more = added.length - removed.length;
        if (more <= 0) return;
        const full = await faultOfOrg(app.db, 'principals', scope, more);
        if (full !== undefined) refuseField(PRINCIPALS, full, message);
      },
      bounds: ({ added, removed }) => [
        ...(added.length > removed.length ? holdPrincipals(scope) : []),
        ...(added.length > 0 && moreOnceChanged(resource) > 0 ? holdRoom(placeOf(scope)) : []),
      ],
    });
  };
}

const GRANTS = 'grant_strings';

export function checkGrants(change: LinkChange) {
  return (item: Item, errors: FieldErrors): void => {
    const texts = idsOf(item, GRANTS);
    if (texts.length === 0 && change !== 'set') errors.add(GRANTS, 'Must be non-empty.');
    const unread = faultOfGrantLengths(texts);
    if (unread !== undefined) {
      errors.add(GRANTS, unread);
      return;
    }
    for (const text of texts) {
      const fault = faultOfGrant(text, change);
      if (fault === undefined) continue;
      errors.add(GRANTS, fault);
      return;
    }
  };
}

/** @see B-48, B-49 */
function faultOfGrant(text: string, change: LinkChange): string | undefined {
  if (text === '') return 'Grant strings must not be empty.';
  const reading = parseGrant(text);
  // What is there already can be taken away, whatever it looks like by today's rules.
  if (change === 'remove') return undefined;
  if (!reading.valid) {
    const reason = change === 'set' ? ` ${reading.because}.` : '';
    return `Improperly formatted grant ${JSON.stringify(text)}.${reason}`;
  }
  if (reading.grant.legacy_id) {
    return `Improperly formatted grant ${JSON.stringify(text)}. The field "id" is no longer supported: use "ids".`;
  }
  return undefined;
}

/** Adds, replaces or removes a role's grants; two that mean the same are one too many. */
export function changeGrants(change: LinkChange) {
  return async (
    app: App,
    caller: BrokerCaller,
    { resource, item }: VerbRequest,
  ): Promise<Resource> => {
    const body = resource.body as RoleBody;
    requireVersion(roleDefinition, resource, item.version ?? 0);
    const present = new Map(body.grant_strings.map((text) => [canonicalOf(text), text]));
    const named = new Map<string, string>();
    for (const text of idsOf(item, GRANTS)) {
      const canonical = canonicalOf(text);
      if (named.has(canonical)) refuseField(GRANTS, `Grant "${text}" is given twice.`);
      named.set(canonical, text);
    }
    const plan = planLinks(change, [...present.keys()], [...named.keys()]);
    const [already] = plan.already;
    if (already !== undefined) refuseField(GRANTS, `Grant "${already}" is there already.`);
    const [absent] = plan.absent;
    if (absent !== undefined) refuseField(GRANTS, `Grant "${absent}" is not there.`);
    const next =
      change === 'set'
        ? [...named.values()]
        : change === 'add'
          ? [...present.values(), ...named.values()]
          : [...present].filter(([key]) => !named.has(key)).map(([, text]) => text);
    const because = change === 'remove' ? undefined : faultOfGrantLengths(next);
    if (because !== undefined) refuseField(GRANTS, because);
    return commitRole(app, caller, item, resource, { field: GRANTS, value: next });
  };
}

function canonicalOf(text: string): string {
  const reading = parseGrant(text);
  return reading.valid ? canonicalGrant(reading.grant) : text;
}

const GRANT_SCOPES = 'grant_scope_ids';

export function checkGrantScopes(change: LinkChange) {
  return (item: Item, errors: FieldErrors): void =>
    checkIds(item, errors, { field: GRANT_SCOPES, change, faultOf: faultOfGrantScope });
}

/** Changes where a role's grants reach. */
export function changeGrantScopes(change: LinkChange) {
  return async (
    app: App,
    caller: BrokerCaller,
    { resource, item }: VerbRequest,
  ): Promise<Resource> => {
    const body = resource.body as RoleBody;
    requireVersion(roleDefinition, resource, item.version ?? 0);
    const tree = await readScopeTree(app);
    const verdict = planGrantScopes(
      await requireScope(app, resource.scope_id),
      body.grant_scope_ids,
      change,
      idsOf(item, GRANT_SCOPES),
      (id) => tree.byId.get(id),
    );
    if (!verdict.allowed) {
      const message = `Unable to ${change} grant scopes on role ${resource.id}.`;
      refuseField(GRANT_SCOPES, verdict.because, message);
    }
    const value = verdict.grant_scope_ids;
    return commitRole(app, caller, item, resource, { field: GRANT_SCOPES, value });
  };
}

/** What a role grows by: one that its scope brought counts once it is changed, whatever it is that changes. */
const moreOnceChanged = (resource: Resource, body = resource.body as RoleBody): number =>
  sizeOfGrants(body) - sizeOfRole(resource);

const placeOf = (scope: InScope): RolePlace => ({ scope_id: scope.id, org_id: orgOf(scope) });

/**
 * What holds the room that a change takes, where it takes any.
 *
 * @throws Failure `invalid` where there is too little
 */
async function planRoom(
  app: App,
  scope: InScope,
  more: number,
  field: string,
  message?: string,
): Promise<Effect[]> {
  if (more <= 0) return [];
  const place = placeOf(scope);
  const because = faultOfRoom(await sumGrants(app.db, place), more);
  if (because !== undefined) refuseField(field, because, message);
  return holdRoom(place);
}

/**
 * Changes what a role holds, if there is room for it; what takes no more than before has its room, and so has what only
 * takes away.
 */
async function commitRole(
  app: App,
  caller: BrokerCaller,
  item: Item,
  resource: Resource,
  { field, value }: { field: keyof RoleBody; value: readonly string[] },
): Promise<Resource> {
  const present = resource.body as RoleBody;
  const body: RoleBody = { ...present, [field]: value };
  const commit = (effects: readonly Effect[]): Promise<Resource> =>
    commitChange(app, caller, roleDefinition, resource, item.version ?? 0, { body, effects });
  const more = moreOnceChanged(resource, body);
  const had = new Set(present[field]);
  if (more <= 0 || value.every((one) => had.has(one))) return commit([]);
  const scope = await requireScope(app, resource.scope_id);
  const requireRoom = (): Promise<Effect[]> => planRoom(app, scope, more, field);
  const effects = await requireRoom();
  try {
    return await commit(effects);
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'conflict') throw error;
    // Others may have taken the room meanwhile, and some of them have given it up again.
    await requireRoom();
    if (isBound(error.message)) refuseField(field, error.message);
    throw error;
  }
}
