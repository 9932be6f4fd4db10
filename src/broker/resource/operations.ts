import { commitEnd, endInTurn } from '../../access/endings/operations.ts';
import { pagesOf } from '../../access/identity/operations.ts';
import { removeLogInsAfterCommit } from '../../access/leases/ended-tokens.operations.ts';
import type { App } from '../../app/app.ts';
import { Failure, isConflict } from '../../core/failure.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Effect } from '../../store/write.ts';
import type { BrokerCaller } from './caller.ts';
import { refuseField } from './field-errors.ts';
import {
  type AnyKind,
  type Container,
  type ItemOf,
  type Kind,
  type Plan,
  type PlannedRow,
  type ResourceHandler,
  type ShownHandler,
  wordsOf,
} from './handler.ts';
import { holdVersion, lockResource, refuseTakenName } from './holds.store.ts';
import { newResourceId, prefixOf } from './ids.ts';
import { isBound } from './org-bounds/bounds.ts';
import { PERMITTING } from './permitting.ts';
import { removeResources, takeResources } from './removals.store.ts';
import { newResource, type Resource } from './resource.ts';
import { requireScope } from './scope-tree/operations.ts';
import { changeResource, findResource, insertResource } from './store.ts';
import { RESOURCE_TYPES } from './types.ts';

/** @throws Failure `not_found`, also for an id of another type */
export async function requireResource<K extends Kind = AnyKind>(
  app: App,
  definition: Pick<ShownHandler<K>, 'type'>,
  id: string,
): Promise<Resource<K['body']>> {
  const resource = await findResource(app.db, id);
  if (resource?.type !== definition.type) throw new Failure('not_found', 'Resource not found.');
  return resource;
}

/** Where a resource lies, for describing and planning. */
async function containerOf<K extends Kind>(
  app: App,
  { type, scope_id, container_id }: Resource,
): Promise<Container<K>> {
  // A scope lies in the one above it, the global one in itself.
  const scope = await requireScope(app, scope_id || 'global');
  const { parent } = RESOURCE_TYPES[type];
  return { scope, parent: parent && (await requireResource(app, { type: parent }, container_id)) };
}

/** What is asked for in a new item. */
interface Creation<K extends Kind> {
  item: ItemOf<K>;
  subtype: string;
  wanted: K['wanted'];
  container: Container<K>;
  /** An id of the caller's choice, for the seed of a development server. */
  id?: string;
}

/** Makes an item. */
export async function createResource<K extends Kind>(
  app: App,
  caller: BrokerCaller,
  definition: ResourceHandler<K>,
  request: Creation<K>,
): Promise<Resource<K['body']>> {
  const { resource, effects } = await planResource(app, caller, definition, request);
  caller.record.outcome.resource_id = resource.id;
  try {
    await app.commit(caller, [
      lockResource(resource.container_id),
      insertResource(resource),
      ...effects,
      ...configChange(definition, 'made'),
    ]);
  } catch (error) {
    if (!isConflict(error)) throw error;
    refuseBound(definition, error);
    // Refused by a guard or by a key: what it was to lie in may be gone.
    if (!(await findResource(app.db, resource.container_id))) {
      throw new Failure('not_found', 'Resource not found.');
    }
    await definition.requireRoom?.(app, resource.container_id);
    throw error;
  }
  return resource;
}

/** A new item's row, and what else belongs into its write set; nothing is committed. */
export async function planResource<K extends Kind>(
  app: App,
  caller: BrokerCaller,
  definition: ResourceHandler<K>,
  request: Creation<K>,
): Promise<{ resource: Resource<K['body']>; effects: Effect[] }> {
  const { item, subtype, container } = request;
  const id = request.id ?? newResourceId(prefixOf(definition.type, subtype), app.randomBytes(32));
  const plan = await definition.planNew(app, caller, { ...request, id });
  const { effects = [], beforehand: _, ...row } = plan;
  const resource = newResource({
    id,
    type: definition.type,
    subtype,
    scope_id: container.scope.id,
    container_id: container.parent?.id ?? container.scope.id,
    name: item.name?.trim() ?? null,
    description: item.description?.trim() ?? null,
    created_ms: app.now(),
    body: {},
    ...row,
  });
  return { resource, effects: [...effects] };
}

/** Changes what a PATCH's mask speaks of. */
export async function updateResource<K extends Kind>(
  app: App,
  caller: BrokerCaller,
  definition: ResourceHandler<K>,
  request: {
    resource: Resource<K['body']>;
    item: ItemOf<K>;
    change: K['change'];
    mask: readonly string[];
  },
): Promise<Resource<K['body']>> {
  const { resource, item, change } = request;
  const updatable = ['name', 'description', ...definition.updatable(resource.subtype)];
  const mask = [...new Set(request.mask.filter((path) => updatable.includes(path)))];
  if (mask.length === 0) {
    const because = wordsOf(definition).emptyMask;
    throw new Failure('invalid', 'No valid fields included in the update mask.', {
      fields: { update_mask: because },
    });
  }
  const container = await containerOf<K>(app, resource);
  const asked = { resource, item, change, mask, container };
  const plan = await definition.planChange(app, caller, asked);
  const texts = {
    ...(mask.includes('name') ? { name: item.name?.trim() ?? null } : {}),
    ...(mask.includes('description') ? { description: item.description?.trim() ?? null } : {}),
  };
  requireVersion(definition, resource, item.version ?? 0);
  try {
    return await commitChange(app, caller, definition, resource, { ...texts, ...plan });
  } catch (error) {
    refuseBound(definition, error);
    throw error;
  }
}

/** @throws Failure `invalid` naming what there is too much for, where a write set was refused for a bound */
function refuseBound(
  { boundedField = 'scope_id' }: Pick<ResourceHandler, 'boundedField'>,
  error: unknown,
): void {
  if (!(error instanceof Failure) || !isBound(error.message)) return;
  refuseField(boundedField, error.message);
}

/**
 * Commits a change that was decided on an item as it was read.
 *
 * @throws Failure `not_found` when that is not the present version, `conflict` for a taken name or key
 */
export async function commitChange<K extends Kind>(
  app: App,
  caller: BrokerCaller,
  definition: ShownHandler<K>,
  resource: Resource<K['body']>,
  plan: Plan<K>,
): Promise<Resource<K['body']>> {
  const { id, version } = resource;
  const { effects = [], beforehand, ...row } = plan;
  const next: Resource<K['body']> = {
    ...resource,
    ...row,
    version: version + 1,
    // Later than before even within one millisecond, so that a refreshed list sees it.
    updated_ms: Math.max(app.now(), resource.updated_ms + 1),
  };
  caller.record.outcome.resource_id = id;
  const requirePresent = async (): Promise<void> => {
    const present = await findResource(app.db, id);
    requireVersion(definition, present ?? { id, version: -1 }, version);
  };
  const commit = () =>
    app.commit(caller, [
      changeResource(id, version, { ...row, updated_ms: next.updated_ms }),
      ...effects,
      ...configChange(definition, 'changed'),
    ]);
  const endAndCommit = async (hasWaited: boolean): Promise<void> => {
    if (hasWaited) await requirePresent();
    const preconditions = [...preconditionsOf(resource, row), ...(beforehand?.preconditions ?? [])];
    await beforehand?.end(await pagesOf(app, caller, preconditions));
    await commitEnd(app, commit);
  };
  try {
    await (beforehand ? endInTurn(app, id, endAndCommit) : commit());
  } catch (error) {
    if (!isConflict(error)) throw error;
    // Refused by a guard or by a key: the present version tells which.
    await requirePresent();
    throw error;
  }
  return next;
}

/** What a change is refused by, whatever its plan says: another version, and a name that is taken. */
function preconditionsOf(resource: Resource, { name }: PlannedRow): Effect[] {
  const { id, type, container_id } = resource;
  return [
    holdVersion(resource),
    ...(typeof name === 'string' ? [refuseTakenName({ id, type, container_id, name })] : []),
  ];
}

/**
 * Makes a plan for a change of an item as it was read. If the plan is refused and somebody else
 * changed the item meanwhile, the change came too late, whatever else may be wrong with it.
 *
 * @throws Failure `not_found` when that is not the present version; whatever the plan throws
 */
export async function planInTime<T>(
  app: App,
  definition: Pick<ShownHandler, 'words'>,
  { id, version }: Resource,
  plan: () => Promise<T>,
): Promise<T> {
  try {
    return await plan();
  } catch (error) {
    const present = await findResource(app.db, id);
    requireVersion(definition, { id, version: present?.version ?? -1 }, version);
    throw error;
  }
}

/** @throws Failure `not_found` for another version than the caller gave, or planned by */
export function requireVersion(
  definition: Pick<ShownHandler, 'words'>,
  resource: Pick<Resource, 'id' | 'version'>,
  expected: number,
): void {
  if (resource.version === expected) return;
  throw new Failure('not_found', wordsOf(definition).stale.replace('%', resource.id));
}

/** Removes an item with everything it contains. */
export async function deleteResource(
  app: App,
  caller: BrokerCaller,
  definition: ShownHandler,
  resource: Resource,
): Promise<void> {
  const { id } = resource;
  await endInTurn(app, id, async (hasWaited) => {
    if (hasWaited) await requireResource(app, definition, id);
    const more = (await definition.planRemoval?.(app, caller, resource)) ?? [];
    await definition.endBeforehand?.(app, caller, resource);
    caller.record.outcome.resource_id = id;
    const effects = [
      // First of all: what is being made of it is waited for, and ends as well.
      ...takeResources({ id }),
      ...more,
      ...removeResources({ id }, app.now()),
      ...configChange(definition, 'changed'),
    ];
    await commitEnd(app, () => app.commit(caller, effects));
  });
  // Tokens were made from those of log-ins, and leases for them: they go with them.
  await removeLogInsAfterCommit(app, caller);
}

/** What is new takes no permission away from anybody. */
function configChange(
  { cached, type }: Pick<ShownHandler, 'cached' | 'type'>,
  how: 'made' | 'changed',
): Effect[] {
  if (!cached) return [];
  const permits = how === 'changed' && PERMITTING.includes(type);
  return permits ? bumpPermissionVersion() : [bumpConfigVersion()];
}
