import type { App } from '../../app/app.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { omitEmpty } from '../../core/omit-empty.ts';
import type { BrokerCaller } from './caller.ts';
import type { OutputFields } from './grants/verdict.ts';
import type { ResourceHandler } from './handler.ts';
import { describeScope, formatTime, type Resource, type Scope } from './resource.ts';
import { requireScope } from './scope-tree/operations.ts';
import { listChildTypes, RESOURCE_TYPES } from './types.ts';

/** What an item shows, whole; fields that the caller may not see are taken out later. */
export async function describeResource(
  app: App,
  caller: BrokerCaller,
  definition: ResourceHandler,
  resource: Resource,
): Promise<Record<string, unknown>> {
  const [described = {}] = await describeResources(app, caller, definition, [resource], 'item');
  return described;
}

/** What items show, in the order given. */
export async function describeResources(
  app: App,
  caller: BrokerCaller,
  definition: ResourceHandler,
  resources: readonly Resource[],
  how: 'item' | 'list',
): Promise<Record<string, unknown>[]> {
  const [own, scopes] = await Promise.all([
    definition.describe(app, caller, resources, how),
    scopesOf(app, resources),
  ]);
  const described: Record<string, unknown>[] = [];
  const breath = new Breath();
  for (const [at, resource] of resources.entries()) {
    const scope = scopes.get(resource.scope_id);
    described.push({
      ...describeCommon(definition, resource, scope),
      ...own[at],
      ...describeActions(caller, definition, resource, scope),
    });
    if (breath.isDue) await breath.take();
  }
  return described;
}

async function scopesOf(
  app: App,
  resources: readonly Resource[],
): Promise<Map<string, { scope: Scope; summary: Record<string, unknown> }>> {
  const scopes = new Map<string, { scope: Scope; summary: Record<string, unknown> }>();
  for (const { scope_id } of resources) {
    if (scopes.has(scope_id)) continue;
    const scope = await requireScope(app, scope_id || 'global');
    scopes.set(scope_id, { scope, summary: describeScope(scope) });
  }
  return scopes;
}

type Placed = { scope: Scope; summary: Record<string, unknown> } | undefined;

function describeCommon(
  definition: ResourceHandler,
  resource: Resource,
  placed: Placed,
): Record<string, unknown> {
  const { containerField, type } = definition;
  const { created_ms, updated_ms } = resource;
  const created_time = formatTime(created_ms);
  return omitEmpty({
    id: resource.id,
    ...(containerField === 'scope_id'
      ? { scope_id: resource.scope_id }
      : { [containerField]: resource.container_id }),
    scope: placed?.summary,
    name: resource.name,
    description: resource.description,
    created_time,
    updated_time: updated_ms === created_ms ? created_time : formatTime(updated_ms),
    version: type === 'auth-token' ? undefined : resource.version,
    type: definition.showsType ? resource.subtype : undefined,
  });
}

function describeActions(
  caller: BrokerCaller,
  definition: ResourceHandler,
  resource: Resource,
  placed: Placed,
): Record<string, unknown> {
  if (!placed) return {};
  const { grants, user_id } = caller.who;
  const { scope } = placed;
  const place = {
    scope_id: scope.id,
    parent_scope_id: scope.parent_scope_id,
    type: resource.type,
  };
  const pin = RESOURCE_TYPES[resource.type].parent ? resource.container_id : undefined;
  const actions = grants.listActions(
    { ...place, id: resource.id, pin },
    definition.actionsOf?.(resource) ?? RESOURCE_TYPES[resource.type].actions,
  );
  // What holds for one's own things only is no action on somebody else's.
  const owned = RESOURCE_TYPES[resource.type].actions.some((action) => action.endsWith(':self'));
  const own = !owned || resource.owner_id === user_id;
  const collections: Record<string, readonly string[]> = {};
  for (const child of definition.type === 'scope' ? [] : listChildTypes(definition.type)) {
    if (definition.childrenOf && !definition.childrenOf(resource).includes(child)) continue;
    const allowed = grants.listActions(
      { ...place, type: child, pin: resource.id },
      definition.collectionActionsOf?.(resource, child) ?? RESOURCE_TYPES[child].collection,
    );
    if (allowed.length > 0) collections[RESOURCE_TYPES[child].plural] = allowed;
  }
  return omitEmpty({
    authorized_actions: own ? actions : actions.filter((action) => !action.endsWith(':self')),
    authorized_collection_actions: collections,
  });
}

/** A described item with only the fields that may be seen. */
export function visibleFields(
  item: Readonly<Record<string, unknown>>,
  fields: OutputFields,
): Readonly<Record<string, unknown>> {
  if (fields === 'all') return item;
  return Object.fromEntries(Object.entries(item).filter(([name]) => fields.has(name)));
}
