import type { App } from '../../../app/app.ts';
import { isConflict } from '../../../core/failure.ts';
import type { Effect } from '../../../store/write.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { type FieldErrors, refuseField } from '../../resource/field-errors.ts';
import { canonicalGrant, faultOfGrantLengths, parseGrant } from '../../resource/grants/grant.ts';
import type { RoleBody } from '../../resource/grants/role.ts';
import type { ResourceInput, VerbRequest } from '../../resource/handler.ts';
import { checkIds, idsOf } from '../../resource/links/fields.ts';
import { type LinkChange, planLinks } from '../../resource/links/plan.ts';
import { commitChange, requireVersion } from '../../resource/operations.ts';
import { isBound } from '../../resource/org-bounds/bounds.ts';
import type { Resource } from '../../resource/resource.ts';
import { readScopeTree, requireScope } from '../../resource/scope-tree/operations.ts';
import { faultOfGrantScope, planGrantScopes } from './grant-scopes.ts';
import { roleDefinition } from './operations.ts';
import { moreOnceChanged, planRoom } from './room.operations.ts';

const GRANTS = 'grant_strings';

export function checkGrants(change: LinkChange) {
  return (item: ResourceInput, errors: FieldErrors): void => {
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
  return (item: ResourceInput, errors: FieldErrors) =>
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

/**
 * Changes what a role holds, if there is room for it; what takes no more than before has its room, and so has what only
 * takes away.
 */
async function commitRole(
  app: App,
  caller: BrokerCaller,
  item: ResourceInput,
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
    if (!isConflict(error)) throw error;
    // Others may have taken the room meanwhile, and some of them have given it up again.
    await requireRoom();
    if (isBound(error.message)) refuseField(field, error.message);
    throw error;
  }
}
