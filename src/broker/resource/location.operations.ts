import type { App } from '../../app/app.ts';
import type { Action } from './actions.ts';
import type { Kind, ResourceHandler } from './handler.ts';
import { requireResource } from './operations.ts';
import type { BoundaryReference, LocatedAccess, LocatedItem, LocatedPlace } from './route.ts';
import { requireScope } from './scope-tree/operations.ts';
import { RESOURCE_TYPES, type ResourceTypeName } from './types.ts';

/** Who may do something with the item of a path, which is found with the scope that grants on it are looked up in. */
export function itemAccess<K extends Kind>(
  { type }: ResourceHandler<K>,
  action: Action,
): LocatedAccess<LocatedItem<K['body']>> {
  const { parent } = RESOURCE_TYPES[type];
  return {
    action,
    type,
    locate: async (app, _caller, { id }) => {
      const resource = await requireResource<K>(app, { type }, id);
      const scope = await requireScope(app, resource.scope_id || 'global');
      const { owner_id } = resource;
      const pin = parent === undefined ? {} : { pin: resource.container_id };
      return { type, scope, id, ...pin, owner_id, resource };
    },
  };
}

/** Who may do something in the global scope. */
export const globalAccess = (type: ResourceTypeName, action: Action): LocatedAccess => ({
  action,
  type,
  locate: async (app) => ({ type, scope: await requireScope(app, 'global') }),
});

export async function locateNew(
  app: App,
  definition: ResourceHandler,
  item: BoundaryReference['item'],
): Promise<LocatedPlace> {
  const container_id = item[definition.containerField] ?? '';
  const { parent: parentType } = RESOURCE_TYPES[definition.type];
  if (parentType === undefined) {
    const scope = await requireScope(app, container_id);
    return { type: definition.type, scope, parent: undefined };
  }
  const parent = await requireResource(app, { type: parentType }, container_id);
  const scope = await requireScope(app, parent.scope_id);
  return { type: definition.type, scope, pin: parent.id, parent };
}
