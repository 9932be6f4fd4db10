import { z } from 'zod';
import type { App } from '../../app/app.ts';
import { describeResource } from './answers.operations.ts';
import type { BrokerCaller } from './caller.ts';
import type { FieldErrors } from './field-errors.ts';
import { wholeNumber } from './fields.ts';
import { type ResourceHandler, type ResourceInput, wordsOf } from './handler.ts';
import { checkCreation, checkPlaceForm, checkUpdate, requireIdForm } from './item-request.ts';
import { listResources } from './lists/operations.ts';
import { parsePaging } from './lists/query.ts';
import { containerOfNew, locateItem, locateNew, resourceAt } from './location.operations.ts';
import { createResource, deleteResource, updateResource } from './operations.ts';
import { type BoundaryRequest, type BoundaryRoute, boundaryRoute } from './route.ts';
import { RESOURCE_TYPES } from './types.ts';

const commonFields = {
  id: z.string().optional().describe('Made by the server; sent in the path alone.'),
  scope_id: z.string().optional().describe('Scope that the resource lies in.'),
  name: z.string().optional().describe('For identification; unique where the resource lies.'),
  description: z.string().optional().describe('For people.'),
  created_time: z.unknown().optional().describe('Output only.'),
  updated_time: z.unknown().optional().describe('Output only.'),
  version: wholeNumber().optional().describe('The latest known version, in changes.'),
  type: z.string().optional().describe('Subtype of the resource.'),
  attributes: z.record(z.string(), z.unknown()).optional().describe('Fields of the subtype.'),
};

/** Fields that only answers have; in a request they are passed over, as clients send items back. */
const answerFields = {
  scope: z.unknown().optional().describe('Output only.'),
  authorized_actions: z.unknown().optional().describe('Output only.'),
  authorized_collection_actions: z.unknown().optional().describe('Output only.'),
};

const inputOf = ({ fields, containerField }: ResourceHandler): z.ZodObject =>
  z.object({
    ...commonFields,
    ...answerFields,
    ...(containerField === 'scope_id'
      ? {}
      : { [containerField]: z.string().optional().describe('What the resource lies in.') }),
    ...fields,
  });

export const resourceSchema = z.record(z.string(), z.unknown());

/** Which of the five common endpoints a type has, and what is special about them. */
export interface StandardOptions {
  /** In the order of the table below; all of them unless named. */
  only?: readonly ('list' | 'create' | 'read' | 'update' | 'delete')[];
  /** Refusals of a list's query besides those that all lists have. */
  checkList?(query: URLSearchParams, recursive: boolean): void;
  /** Refusals of where a new item would lie. */
  checkContainer?(item: ResourceInput, errors: FieldErrors): void;
  list?(app: App, caller: BrokerCaller, query: URLSearchParams): Promise<Record<string, unknown>>;
  resolve?(app: App, request: BoundaryRequest): Promise<BoundaryRequest>;
  /** Query fields of a creation, for documentation. */
  createQuery?: z.ZodObject;
}

/** What a type is called in a sentence. */
function article(type: string): string {
  const words = type.replaceAll('-', ' ');
  return /^[aeio]/.test(words) ? `an ${words}` : `a ${words}`;
}

/** All that a request says but its secrets: who led a target elsewhere says where in its record. */
export function recordedOf(
  { fields, attributes = {}, secrets = [] }: ResourceHandler,
  more: readonly string[],
): Pick<BoundaryRoute, 'audit' | 'audit_within'> {
  const open = (names: readonly string[]) => names.filter((name) => !secrets.includes(name));
  const within = Object.values(attributes).flatMap(({ shape }) => Object.keys(shape));
  return {
    audit: ['name', 'description', ...more, ...open(Object.keys(fields))],
    ...(within.length > 0 && { audit_within: { attributes: open([...new Set(within)]) } }),
  };
}

/** The endpoints that all types of resources have alike. */
export function standardRoutes(
  definition: ResourceHandler,
  options: StandardOptions = {},
): BoundaryRoute[] {
  const only = options.only ?? ['list', 'create', 'read', 'update', 'delete'];
  return only.map((name) => ROUTES[name](definition, options));
}

const resolving = ({ resolve }: StandardOptions): Pick<StandardOptions, 'resolve'> =>
  resolve ? { resolve } : {};

function listRoute(definition: ResourceHandler, options: StandardOptions): BoundaryRoute {
  const { type, containerField } = definition;
  const { plural } = RESOURCE_TYPES[type];
  return boundaryRoute({
    id: `list-${plural}`,
    method: 'GET',
    path: `/v1/${plural}`,
    summary: `List ${plural.replaceAll('-', ' ')}`,
    access: { action: 'list', lists: type },
    input: z.object({}),
    query: z.object({
      [containerField]: z.string().describe('What is listed.'),
      recursive: z.string().optional().describe('Also of every scope beneath.'),
      filter: z.string().optional().describe('Boolean expression over `/item`.'),
      list_token: z.string().optional().describe('Goes on with an earlier list.'),
      page_size: z.string().optional().describe('Items of a page, at most 1000.'),
    }),
    output: resourceSchema,
    failures: ['invalid', 'unauthenticated', 'forbidden', 'not_found'],
    check: ({ query }) => {
      const { recursive } = parsePaging(query);
      if (options.checkList) options.checkList(query, recursive);
      else checkPlaceForm(definition, query);
    },
    run: async (app, caller, { query }) => ({
      body: options.list
        ? await options.list(app, caller, query)
        : await listResources(app, caller, definition, query),
    }),
  });
}

function createRoute(definition: ResourceHandler, options: StandardOptions): BoundaryRoute {
  const { type, containerField, attributes = {} } = definition;
  const { plural } = RESOURCE_TYPES[type];
  return boundaryRoute({
    id: `create-${type}`,
    method: 'POST',
    path: `/v1/${plural}`,
    summary: `Create ${article(type)}`,
    access: {
      action: 'create',
      type,
      named_by: [containerField],
      locate: async (app, _caller, { item }) => locateNew(app, definition, item),
    },
    input: inputOf(definition),
    attributes,
    ...(options.createQuery ? { query: options.createQuery } : {}),
    output: resourceSchema,
    failures: ['invalid', 'conflict', 'unauthenticated', 'forbidden', 'not_found'],
    ...recordedOf(definition, [
      containerField,
      'type',
      ...Object.keys(options.createQuery?.shape ?? {}),
    ]),
    check: (request) => {
      checkCreation(definition, request, options);
    },
    run: async (app, caller, request, located) => {
      const container = containerOfNew(located);
      const { item, subtype } = checkCreation(definition, request, options);
      const { query } = request;
      const made = await createResource(app, caller, definition, {
        item,
        subtype,
        container,
        query,
      });
      return { item: await describeResource(app, caller, definition, made) };
    },
  });
}

function readRoute(definition: ResourceHandler, options: StandardOptions): BoundaryRoute {
  const { type } = definition;
  const { plural } = RESOURCE_TYPES[type];
  return boundaryRoute({
    id: `read-${type}`,
    method: 'GET',
    path: `/v1/${plural}/{id}`,
    summary: `Read ${article(type)}`,
    access: { action: 'read', type, locate: locateItem(definition) },
    input: z.object({}),
    output: resourceSchema,
    failures: ['invalid', 'unauthenticated', 'forbidden', 'not_found'],
    ...resolving(options),
    check: ({ id }) => requireIdForm(definition, id, wordsOf(definition).malformedRead),
    run: async (app, caller, _request, located) => ({
      item: await describeResource(app, caller, definition, resourceAt(located)),
    }),
  });
}

function updateRoute(definition: ResourceHandler, options: StandardOptions): BoundaryRoute {
  const { type, containerField, wholeFields: whole_fields = [], attributes = {} } = definition;
  const { plural } = RESOURCE_TYPES[type];
  return boundaryRoute({
    id: `update-${type}`,
    method: 'PATCH',
    path: `/v1/${plural}/{id}`,
    summary: `Change ${article(type)}`,
    access: { action: 'update', type, locate: locateItem(definition) },
    input: inputOf(definition),
    attributes,
    query: z.object({ update_mask: z.string().optional().describe('Instead of the body.') }),
    output: resourceSchema,
    failures: ['invalid', 'conflict', 'unauthenticated', 'forbidden', 'not_found'],
    ...recordedOf(definition, [containerField, 'version', 'update_mask']),
    whole_fields,
    ...resolving(options),
    check: (request) => {
      checkUpdate(definition, request);
    },
    run: async (app, caller, request, located) => {
      const item = checkUpdate(definition, request);
      const resource = await updateResource(app, caller, definition, {
        resource: resourceAt(located),
        item,
        mask: request.mask,
      });
      return { item: await describeResource(app, caller, definition, resource) };
    },
  });
}

function deleteRoute(definition: ResourceHandler, options: StandardOptions): BoundaryRoute {
  const { type } = definition;
  const { plural } = RESOURCE_TYPES[type];
  return boundaryRoute({
    id: `delete-${type}`,
    method: 'DELETE',
    path: `/v1/${plural}/{id}`,
    summary: `Delete ${article(type)}`,
    access: { action: 'delete', type, locate: locateItem(definition) },
    input: z.object({}),
    output: resourceSchema,
    failures: ['invalid', 'unauthenticated', 'forbidden', 'not_found'],
    ...resolving(options),
    check: ({ id }) => requireIdForm(definition, id, wordsOf(definition).malformedDelete),
    run: async (app, caller, _request, located) => {
      await deleteResource(app, caller, definition, resourceAt(located));
      return {};
    },
  });
}

const ROUTES = {
  list: listRoute,
  create: createRoute,
  read: readRoute,
  update: updateRoute,
  delete: deleteRoute,
};
