import type { App } from '../../app/app.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { omitEmpty } from '../../core/omit-empty.ts';
import type { BrokerCaller } from './caller.ts';
import type { OutputFields } from './grants/verdict.ts';
import type { AnswerOf, CommonAnswer, Kind, ShownHandler } from './handler.ts';
import { describeScope, formatTime, type Resource, type Scope } from './resource.ts';
import { requireScope } from './scope-tree/operations.ts';
import { listChildTypes, RESOURCE_TYPES } from './types.ts';

/** What an item shows, whole; fields that the caller may not see are taken out later. */
export async function describeResource<K extends Kind>(
  app: App,
  caller: BrokerCaller,
  definition: ShownHandler<K>,
  resource: Resource<K['body']>,
): Promise<AnswerOf<K>> {
  return shapeAt(await describeResources(app, caller, definition, [resource], 'item'), 0);
}

/** Shapes stand in the order of their rows. */
function shapeAt<Shape>(shapes: readonly Shape[], at: number): Shape {
  const shape = shapes[at];
  if (shape === undefined) throw new TypeError('each row has a shape');
  return shape;
}

/** What items show, in the order given. */
export async function describeResources<K extends Kind>(
  app: App,
  caller: BrokerCaller,
  definition: ShownHandler<K>,
  resources: readonly Resource<K['body']>[],
  how: 'item' | 'list',
): Promise<AnswerOf<K>[]> {
  const [own, scopes] = await Promise.all([
    definition.describe(app, caller, resources, how),
    scopesOf(app, resources),
  ]);
  const described: AnswerOf<K>[] = [];
  const breath = new Breath();
  for (const [at, resource] of resources.entries()) {
    const scope = scopes.get(resource.scope_id);
    described.push(
      Object.assign(
        describeCommon(definition, resource, scope),
        shapeAt(own, at),
        describeActions(caller, definition, resource, scope),
      ),
    );
    if (breath.isDue) await breath.take();
  }
  return described;
}

type Described = Pick<
  ShownHandler,
  'type' | 'containerField' | 'showsType' | 'actionsOf' | 'childrenOf' | 'collectionActionsOf'
>;

interface Placed {
  scope: Scope;
  summary: ReturnType<typeof describeScope>;
}

async function scopesOf(app: App, resources: readonly Resource[]): Promise<Map<string, Placed>> {
  const scopes = new Map<string, Placed>();
  for (const { scope_id } of resources) {
    if (scopes.has(scope_id)) continue;
    const scope = await requireScope(app, scope_id || 'global');
    scopes.set(scope_id, { scope, summary: describeScope(scope) });
  }
  return scopes;
}

function describeCommon(
  { containerField, type, showsType }: Described,
  resource: Resource,
  placed: Placed | undefined,
): CommonAnswer {
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
    type: showsType ? resource.subtype : undefined,
  });
}

function describeActions(
  caller: BrokerCaller,
  definition: Described,
  resource: Resource,
  placed: Placed | undefined,
): CommonAnswer {
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
export function visibleFields(item: object, fields: OutputFields): object {
  if (fields === 'all') return item;
  return Object.fromEntries(Object.entries(item).filter(([name]) => fields.has(name)));
}
