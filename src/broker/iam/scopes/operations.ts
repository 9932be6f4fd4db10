import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import type { Effect } from '../../../store/write.ts';
import { forgetRecordingsIn, hasRetained } from '../../recordings/recordings/store.ts';
import { type BrokerCaller, RECOVERY_USER } from '../../resource/caller.ts';
import { refuseField } from '../../resource/field-errors.ts';
import { parseFlag } from '../../resource/fields.ts';
import type { RoleBody } from '../../resource/grants/role.ts';
import type { Kind, ResourceHandler, ShownOf } from '../../resource/handler.ts';
import { lockResource } from '../../resource/holds.store.ts';
import { isIdOf, newResourceId, scopeTypeOf } from '../../resource/ids.ts';
import { insertLink, listLinksOfAll } from '../../resource/links/store.ts';
import type { ListRequest } from '../../resource/lists/query.ts';
import {
  faultOfOrg,
  holdNumberOf,
  holdPrincipals,
  type InScope,
} from '../../resource/org-bounds/store.ts';
import { newResource, type Resource } from '../../resource/resource.ts';
import { readScopeTree } from '../../resource/scope-tree/operations.ts';
import { noteScopes } from '../../resource/scope-tree/store.ts';
import type { ScopeBody, ScopeTree } from '../../resource/scope-tree/tree.ts';
import { findResource, insertResource } from '../../resource/store.ts';
import { RESOURCE_TYPES } from '../../resource/types.ts';
import { endBeforehand } from '../removal.operations.ts';
import { planScopeRemoval } from '../scope-removal.operations.ts';
import { faultOfScopes } from './room.ts';
import {
  COLLECTIONS,
  chooseScopeType,
  type InitialRole,
  planScopeRoles,
  scopeActions,
  scopeFields,
  shownOfScope,
} from './scope.ts';
import { holdScopeRoom, readScopeCounts } from './store.ts';

const STORAGE_POLICY = 'scope-storage-policy';
const NO_SUCH_METHOD = 'There is no such auth method in this scope.';

export interface ScopeKind extends Kind {
  fields: typeof scopeFields;
  shown: typeof shownOfScope;
  body: ScopeBody;
  /** Which of the roles that come with it are not wanted. */
  wanted: { skip_admin: boolean; skip_default: boolean };
  /** The primary auth method, empty for none; absent where it stays. */
  change: string | undefined;
}

export const scopeDefinition: ResourceHandler<ScopeKind> = {
  type: 'scope',
  containerField: 'scope_id',
  fields: scopeFields,
  shown: shownOfScope,
  cached: true,
  showsType: true,
  words: {
    malformedRead: 'Invalidly formatted scope id.',
    malformedUpdate: 'Invalidly formatted scope id.',
    malformedDelete: 'Invalidly formatted scope id.',
    stale: 'Scope "%" doesn\'t exist or incorrect version provided.',
  },

  chooseSubtype: (item, _parent, errors) =>
    chooseScopeType(item.type ?? '', item.scope_id ?? '', errors),
  checkNew(item, _subtype, errors, query) {
    if (!item.scope_id) errors.add('scope_id', 'Missing value for scope_id.');
    if (item.primary_auth_method_id !== undefined) {
      errors.add('primary_auth_method_id', 'This can only be set once the scope exists.');
    }
    const isSet = (name: string): boolean => {
      const flag = parseFlag(query.get(name));
      if (flag === undefined) errors.add(name, 'This must be true or false.');
      return flag ?? false;
    };
    return {
      skip_admin: isSet('skip_admin_role_creation'),
      skip_default: isSet('skip_default_role_creation'),
    };
  },
  async planNew(app, caller, { id, subtype, container, wanted }) {
    const { user_id } = caller.who;
    const roles = planScopeRoles(
      { id, type: subtype === 'org' ? 'org' : 'project' },
      {
        user_id,
        // Nobody to give the role to: who repairs is allowed everything anyway.
        skip_admin: wanted.skip_admin || user_id === RECOVERY_USER,
        skip_default: wanted.skip_default,
      },
    );
    const parent_id = container.scope.id;
    await requireScopeRoom(app, parent_id);
    const project = { id, type: 'project', parent_scope_id: parent_id } as const;
    const bounds =
      subtype === 'project' && roles.length > 0 ? await planRoomForRoles(app, project, roles) : [];
    return {
      body: { primary_auth_method_id: '' },
      effects: [
        ...roles.flatMap((role) => insertRole(app, id, role)),
        ...noteScopes({ ids: [id] }),
        ...bounds,
        ...holdScopeRoom(parent_id),
      ],
    };
  },
  requireRoom: requireScopeRoom,

  updatable: () => ['primary_auth_method_id'],
  checkChange({ primary_auth_method_id: primary }, { subtype, mask }, errors) {
    if (!mask.includes('primary_auth_method_id')) return undefined;
    if (primary === undefined) return '';
    if (subtype === 'project') {
      errors.add('primary_auth_method_id', 'Projects have no auth methods.');
    } else if (!isIdOf(primary, 'auth-method')) {
      errors.add('primary_auth_method_id', 'Improperly formatted identifier.');
    }
    return primary;
  },
  async planChange(app, _caller, { resource, change: id }) {
    const noted = noteScopes({ ids: [resource.id] });
    if (id === undefined) return { effects: noted };
    if (id !== '') {
      const method = await findResource(app.db, id);
      if (method?.type !== 'auth-method' || method.scope_id !== resource.id) {
        refuseField('primary_auth_method_id', NO_SUCH_METHOD);
      }
    }
    const body = { primary_auth_method_id: id };
    // It goes with its removal, which waits for this to be durable.
    const held = { ...lockResource(id), conflict: NO_SUCH_METHOD };
    return { body, effects: id === '' ? noted : [held, ...noted] };
  },
  endBeforehand,
  async planRemoval(app, _caller, resource) {
    if (resource.id === 'global') refuseField('id', 'Invalid to delete the global scope.');
    const now = app.now();
    if (await hasRetained(app.db, now, resource.id)) {
      throw new Failure(
        'precondition',
        'the scope holds recordings of sessions that must be retained, or go on',
      );
    }
    return [
      ...forgetRecordingsIn(now, resource.id),
      ...(await planScopeRemoval(app, { within: resource.id })),
    ];
  },

  actionsOf: (resource) => scopeActions(scopeTypeOf(resource.id)),
  async describe(app, caller, resources) {
    const tree = await readScopeTree(app);
    const described: ShownOf<ScopeKind>[] = [];
    const breath = new Breath();
    const ids = resources.map(({ id }) => id);
    const links = await listLinksOfAll(app.db, ids, [STORAGE_POLICY]);
    const policies = new Map(links.map(({ from_id, to_id }) => [from_id, to_id]));
    for (const resource of resources) {
      const storage_policy_id = policies.get(resource.id);
      described.push({
        ...(await describeScopeFields(caller, tree, resource, breath)),
        ...omitEmpty({ storage_policy_id }),
      });
    }
    return described;
  },
};

/** @throws Failure `invalid` where a parent takes no more scopes, or the server */
async function requireScopeRoom(app: App, parent_id: string): Promise<void> {
  const because = faultOfScopes(parent_id, await readScopeCounts(app.db, parent_id));
  if (because !== undefined) refuseField('scope_id', because);
}

/** What may be done in a scope is a question for every type in it, each about all grants that apply. */
async function describeScopeFields(
  caller: BrokerCaller,
  tree: ScopeTree,
  { id, body }: Resource<ScopeBody>,
  breath: Breath,
): Promise<ShownOf<ScopeKind>> {
  const { primary_auth_method_id } = body;
  const parent_scope_id = tree.byId.get(id)?.parent_scope_id ?? '';
  const collections: Record<string, readonly string[]> = {};
  for (const { type, actions } of COLLECTIONS[scopeTypeOf(id)]) {
    const place = { scope_id: id, parent_scope_id, type };
    const allowed = caller.who.grants.listActions(place, actions);
    if (allowed.length > 0) collections[RESOURCE_TYPES[type].plural] = allowed;
    await breath.take();
  }
  return omitEmpty({ primary_auth_method_id, authorized_collection_actions: collections });
}

/**
 * Roles that come with a project count as those that are made one by one; their grants take no room.
 *
 * @throws Failure `invalid` where there is no room for them
 */
async function planRoomForRoles(
  app: App,
  project: InScope,
  roles: readonly InitialRole[],
): Promise<Effect[]> {
  const full =
    (await faultOfOrg(app.db, 'role', project, roles.length)) ??
    (await faultOfOrg(app.db, 'principals', project, roles.length));
  if (full !== undefined) refuseField('scope_id', full);
  return [...holdNumberOf('role', project), ...holdPrincipals(project)];
}

/** A role with one principal, as a scope begins with. */
export function insertRole(
  app: Pick<App, 'now' | 'randomBytes'>,
  scope_id: string,
  role: InitialRole,
  more: { id?: string; grant_scope_ids?: readonly string[] } = {},
): Effect[] {
  const id = more.id ?? newResourceId('r', app.randomBytes(32));
  const { grant_strings } = role;
  const body: RoleBody = { grant_strings, grant_scope_ids: more.grant_scope_ids ?? ['this'] };
  const { name, description } = role;
  const of = { id, type: 'role', subtype: 'role', scope_id, name, description } as const;
  return [
    insertResource(newResource({ ...of, created_ms: app.now(), body })),
    insertLink({ from_id: id, kind: 'role-principal', to_id: role.principal_id }),
  ];
}

/** @throws Failure `invalid` */
export function checkScopeList({ place }: ListRequest): void {
  if (place === '' || place === 'global' || isIdOf(place, 'scope', 'org')) return;
  refuseField(
    'scope_id',
    "Must be 'global' or a valid org scope id when listing.",
    'Improperly formatted identifier.',
  );
}
