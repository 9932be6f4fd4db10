import { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Immutable } from '../../core/immutable.ts';
import { describeResource } from './answers.operations.ts';
import type { BrokerCaller } from './caller.ts';
import { answerFields, commonFields, commonShown } from './common-fields.ts';
import { type ResourceHandler, type ShownHandler, wordsOf } from './handler.ts';
import { checkCreation, checkPlaceForm, checkUpdate, requireIdForm } from './item-request.ts';
import { listResources } from './lists/operations.ts';
import { type ListRequest, parseListRequest } from './lists/query.ts';
import { itemAccess, locateNew } from './location.operations.ts';
import { createResource, deleteResource, updateResource } from './operations.ts';
import { type AnyBoundaryRoute, boundaryRoute } from './route.ts';
import { RESOURCE_TYPES } from './types.ts';

const inputOf = ({ fields, containerField }: ResourceHandler) =>
  z.object({
    ...commonFields,
    ...answerFields,
    ...(containerField === 'scope_id'
      ? {}
      : { [containerField]: z.string().optional().describe('What the resource lies in.') }),
    ...fields,
    // They stand first, and no kind has them otherwise.
    ...commonFields,
  });

/** What an item shows; grants may leave any of it out. */
export function shownSchema({ containerField, showsType, shown }: ShownHandler): z.ZodType<object> {
  const { id, type, ...common } = commonShown;
  const place = z.string().describe('What the resource lies in.');
  const shape = { id, [containerField]: place, ...common, ...(showsType && { type }), ...shown };
  return z.object(shape).partial();
}

/** What a page of a list shows. */
export const listSchema = (item: z.ZodType<object>) =>
  z.object({
    items: z.array(item).optional(),
    response_type: z.enum(['delta', 'complete']).describe('Whether there is more.'),
    list_token: z.string().optional().describe('Goes on with the list.'),
    sort_by: z.enum(['created_time', 'updated_time']),
    sort_dir: z.enum(['desc']),
    removed_ids: z.array(z.string()).optional().describe('What is gone since the list before.'),
    est_item_count: z.int().optional().describe('How many there are, about.'),
  });

type ListSchema = ReturnType<typeof listSchema>;

interface ListOptions<Out extends z.ZodType<object>> {
  output: Out;
  /** Fields of the query besides those that all lists have, or in their place; for documentation. */
  listQuery?: z.ZodRawShape;
  /** Refusals of a list's query besides those that all lists have. @throws Failure `invalid` */
  checkList?(asked: ListRequest): void;
  list(
    app: App,
    caller: BrokerCaller,
    asked: ListRequest,
    query: URLSearchParams,
  ): Promise<Immutable<z.output<Out>>>;
}

type Resolve = NonNullable<AnyBoundaryRoute['resolve']>;

/** What is special about the common endpoints of a type. */
interface ShownOptions extends Partial<Omit<ListOptions<ListSchema>, 'output'>> {
  resolve?: Resolve;
}

interface StandardOptions extends ShownOptions {
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
): Pick<AnyBoundaryRoute, 'audit' | 'audit_within'> {
  const open = (names: readonly string[]) => names.filter((name) => !secrets.includes(name));
  const within = Object.values(attributes).flatMap(({ shape }) => Object.keys(shape));
  return {
    audit: ['name', 'description', ...more, ...open(Object.keys(fields))],
    ...(within.length > 0 && { audit_within: { attributes: open([...new Set(within)]) } }),
  };
}

/** The endpoints that all types of resources have alike, in the order in which documents have them. */
export function standardRoutes(
  definition: ResourceHandler,
  { only, ...options }: StandardOptions & { only?: readonly (keyof typeof ROUTES)[] } = {},
): AnyBoundaryRoute[] {
  const output = shownSchema(definition);
  const names = only ?? (['list', 'create', 'read', 'update', 'delete'] as const);
  return names.map((name) => ROUTES[name](definition, options, output));
}

/** Those of them that types have as well whose items are not made or changed by themselves. */
export function shownRoutes(
  definition: ShownHandler,
  { only, ...options }: ShownOptions & { only: readonly (keyof typeof SHOWN_ROUTES)[] },
): AnyBoundaryRoute[] {
  const output = shownSchema(definition);
  return only.map((name) => SHOWN_ROUTES[name](definition, options, output));
}

const resolving = ({ resolve }: ShownOptions): { resolve?: Resolve } =>
  resolve ? { resolve } : {};

/** An endpoint `GET /v1/{plural}`, by what its answer shows and how that is found. */
export function listRoute<Out extends z.ZodType<object>>(
  definition: ShownHandler,
  {
    output,
    checkList = (asked) => checkPlaceForm(definition, asked),
    list,
    listQuery = {},
  }: ListOptions<Out>,
): AnyBoundaryRoute {
  const { type, containerField } = definition;
  const { plural } = RESOURCE_TYPES[type];
  return boundaryRoute({
    id: `list-${plural}`,
    method: 'GET',
    on_any_thread: true,
    path: `/v1/${plural}`,
    summary: `List ${plural.replaceAll('-', ' ')}`,
    access: { action: 'list', lists: type },
    input: z.object({}),
    query: z.object({
      [containerField]: z.string().describe('What is listed.'),
      recursive: z.string().optional().describe('Also of every scope beneath.'),
      filter: z
        .string()
        .optional()
        .describe('Boolean expression over the fields of the items, e.g. `/item/name`.'),
      list_token: z.string().optional().describe('Goes on with an earlier list.'),
      page_size: z.string().optional().describe('Items of a page, at most 1000.'),
      ...listQuery,
    }),
    output,
    failures: ['invalid', 'unauthenticated', 'forbidden', 'not_found'],
    check: ({ query }) => {
      const asked = parseListRequest(query, containerField);
      checkList(asked);
      return asked;
    },
    run: async (app, caller, { checked, query }) => ({
      body: await list(app, caller, checked, query),
    }),
  });
}

function createRoute(
  definition: ResourceHandler,
  options: StandardOptions,
  output: z.ZodType<object>,
): AnyBoundaryRoute {
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
      locate: (app, _caller, { item }) => locateNew(app, definition, item),
    },
    input: inputOf(definition),
    attributes,
    ...(options.createQuery ? { query: options.createQuery } : {}),
    output,
    failures: ['invalid', 'conflict', 'unauthenticated', 'forbidden', 'not_found'],
    ...recordedOf(definition, [
      containerField,
      'type',
      ...Object.keys(options.createQuery?.shape ?? {}),
    ]),
    check: (request) => checkCreation(definition, request),
    run: async (app, caller, { checked }, container) => {
      const made = await createResource(app, caller, definition, { ...checked, container });
      return { item: await describeResource(app, caller, definition, made) };
    },
  });
}

function readRoute(
  definition: ShownHandler,
  options: ShownOptions,
  output: z.ZodType<object>,
): AnyBoundaryRoute {
  const { type } = definition;
  const { plural } = RESOURCE_TYPES[type];
  return boundaryRoute({
    id: `read-${type}`,
    method: 'GET',
    on_any_thread: true,
    path: `/v1/${plural}/{id}`,
    summary: `Read ${article(type)}`,
    access: itemAccess(definition, 'read'),
    input: z.object({}),
    output,
    failures: ['invalid', 'unauthenticated', 'forbidden', 'not_found'],
    ...resolving(options),
    check: ({ id }) => requireIdForm(definition, id, wordsOf(definition).malformedRead),
    run: async (app, caller, _request, { resource }) => ({
      item: await describeResource(app, caller, definition, resource),
    }),
  });
}

function updateRoute(
  definition: ResourceHandler,
  options: StandardOptions,
  output: z.ZodType<object>,
): AnyBoundaryRoute {
  const { type, containerField, wholeFields: whole_fields = [], attributes = {} } = definition;
  const { plural } = RESOURCE_TYPES[type];
  return boundaryRoute({
    id: `update-${type}`,
    method: 'PATCH',
    path: `/v1/${plural}/{id}`,
    summary: `Change ${article(type)}`,
    access: itemAccess(definition, 'update'),
    input: inputOf(definition),
    attributes,
    query: z.object({ update_mask: z.string().optional().describe('Instead of the body.') }),
    output,
    failures: ['invalid', 'conflict', 'unauthenticated', 'forbidden', 'not_found'],
    ...recordedOf(definition, [containerField, 'version', 'update_mask']),
    whole_fields,
    ...resolving(options),
    check: (request) => checkUpdate(definition, request),
    run: async (app, caller, { checked, mask }, located) => {
      const asked = { ...checked, mask, resource: located.resource };
      const resource = await updateResource(app, caller, definition, asked);
      return { item: await describeResource(app, caller, definition, resource) };
    },
  });
}

function deleteRoute(definition: ShownHandler, options: ShownOptions): AnyBoundaryRoute {
  const { type } = definition;
  const { plural } = RESOURCE_TYPES[type];
  return boundaryRoute({
    id: `delete-${type}`,
    method: 'DELETE',
    path: `/v1/${plural}/{id}`,
    summary: `Delete ${article(type)}`,
    access: itemAccess(definition, 'delete'),
    input: z.object({}),
    output: z.null(),
    failures: ['invalid', 'unauthenticated', 'forbidden', 'not_found'],
    ...resolving(options),
    check: ({ id }) => requireIdForm(definition, id, wordsOf(definition).malformedDelete),
    run: async (app, caller, _request, { resource }) => {
      await deleteResource(app, caller, definition, resource);
      return {};
    },
  });
}

const SHOWN_ROUTES = {
  list: (definition: ShownHandler, options: ShownOptions, item: z.ZodType<object>) =>
    listRoute(definition, {
      output: listSchema(item),
      list: (app, caller, asked) => listResources(app, caller, definition, asked),
      ...options,
    }),
  read: readRoute,
  delete: deleteRoute,
};

const ROUTES = { ...SHOWN_ROUTES, create: createRoute, update: updateRoute };
