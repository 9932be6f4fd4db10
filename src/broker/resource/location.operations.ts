import type { App } from '../../app/app.ts';
import type { BrokerCaller } from './caller.ts';
import type { Container, ResourceHandler } from './handler.ts';
import { requireResource } from './operations.ts';
import type { Resource } from './resource.ts';
import type { BoundaryRequest, Located } from './route.ts';
import { requireScope } from './scope-tree/operations.ts';
import { RESOURCE_TYPES } from './types.ts';

/** Finds the item of a path, and the scope in which grants on it are looked up. */
export function locateItem(definition: ResourceHandler) {
  return async (app: App, _caller: BrokerCaller, { id }: BoundaryRequest): Promise<Located> => {
    const resource = await requireResource(app, definition, id);
    return locatedOf(app, resource);
  };
}

async function locatedOf(app: App, resource: Resource): Promise<Located> {
  const scope = await requireScope(app, resource.scope_id || 'global');
  const { parent } = RESOURCE_TYPES[resource.type];
  return {
    type: resource.type,
    scope,
    id: resource.id,
    ...(parent === undefined ? {} : { pin: resource.container_id }),
    owner_id: resource.owner_id,
    resource,
  };
}

export async function locateNew(
  app: App,
  definition: ResourceHandler,
  item: Readonly<Record<string, unknown>>,
): Promise<Located> {
  const container_id = String(item[definition.containerField] ?? '');
  const { parent: parentType } = RESOURCE_TYPES[definition.type];
  if (parentType === undefined) {
    return { type: definition.type, scope: await requireScope(app, container_id) };
  }
  const parent = await requireResource(app, { type: parentType }, container_id);
  const scope = await requireScope(app, parent.scope_id);
  return { type: definition.type, scope, pin: parent.id, parent };
}

export function containerOfNew(located: Located | undefined): Container {
  if (!located) throw new TypeError('a new item lies somewhere');
  return { scope: located.scope, parent: located.parent };
}

/** The item that was located. */
export function resourceAt(located: Located | undefined): Resource {
  if (!located?.resource) throw new TypeError('this endpoint is about an item');
  return located.resource;
}
