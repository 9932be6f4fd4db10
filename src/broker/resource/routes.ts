import { z } from 'zod';
import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import type { Action } from './actions.ts';
import { describeResource } from './answers.operations.ts';
import type { BrokerCaller } from './caller.ts';
import {
  checkChanged,
  checkNew,
  FieldErrors,
  IN_FIELDS,
  IN_REQUEST,
  refuseField,
} from './field-errors.ts';
import { wholeNumber } from './fields.ts';
import type { Container, Definition, Item } from './handler.ts';
import { isIdOf, parseId } from './ids.ts';
import { listResources } from './lists/operations.ts';
import { parsePaging } from './lists/query.ts';
import {
  createResource,
  deleteResource,
  requireResource,
  updateResource,
  wordsOf,
} from './operations.ts';
import type { Resource } from './resource.ts';
import { type BoundaryRequest, type BoundaryRoute, boundaryRoute, type Located } from './route.ts';
import { requireScope } from './scope-tree/operations.ts';
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

const inputOf = ({ fields, containerField }: Definition): z.ZodObject =>
  z.object({
    ...commonFields,
    ...answerFields,
    ...(containerField === 'scope_id'
      ? {}
      : { [containerField]: z.string().optional().describe('What the resource lies in.') }),
    ...fields,
  });

const resourceSchema = z.record(z.string(), z.unknown());

/** Which of the five common endpoints a type has, and what is special about them. */
export interface StandardOptions {
  /** In the order of the table below; all of them unless named. */
  only?: readonly ('list' | 'create' | 'read' | 'update' | 'delete')[];
  /** Refusals of a list's query besides those that all lists have. */
  checkList?(query: URLSearchParams, recursive: boolean): void;
  /** Refusals of where a new item would lie. */
  checkContainer?(item: Item, errors: FieldErrors): void;
  list?(app: App, caller: BrokerCaller, query: URLSearchParams): Promise<Record<string, unknown>>;
  resolve?(app: App, request: BoundaryRequest): Promise<BoundaryRequest>;
  /** Query fields of a creation, for documentation. */
  createQuery?: z.ZodObject;
}

const article = (type: string): string => (/^[aeio]/.test(type) ? `an ${type}` : `a ${type}`);

/** All that a request says but its secrets: who led a target elsewhere says where in its record. */
export function recordedOf(
  { fields, attributes = {}, secrets = [] }: Definition,
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
  definition: Definition,
  options: StandardOptions = {},
): BoundaryRoute[] {
  const { type, containerField } = definition;
  const { plural } = RESOURCE_TYPES[type];
  const words = type.replaceAll('-', ' ');
  const collection = `/v1/${plural}` as const;
  const one = `/v1/${plural}/{id}` as const;
  const input = inputOf(definition);
  const none = z.object({});
  const output = resourceSchema;
  const resolve = options.resolve ? { resolve: options.resolve } : {};
  const whole_fields = definition.wholeFields ?? [];
  const attributes = definition.attributes ?? {};
  const recorded = (more: readonly string[]) => recordedOf(definition, more);
  const routes: Record<string, BoundaryRoute> = {
    list: boundaryRoute({
      id: `list-${plural}`,
      method: 'GET',
      path: collection,
      summary: `List ${plural.replaceAll('-', ' ')}`,
      access: { action: 'list', lists: type },
      input: none,
      query: z.object({
        [containerField]: z.string().describe('What is listed.'),
        recursive: z.string().optional().describe('Also of every scope beneath.'),
        filter: z.string().optional().describe('Boolean expression over `/item`.'),
        list_token: z.string().optional().describe('Goes on with an earlier list.'),
        page_size: z.string().optional().describe('Items of a page, at most 1000.'),
      }),
      output,
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
    }),
    create: boundaryRoute({
      id: `create-${type}`,
      method: 'POST',
      path: collection,
      summary: `Create ${article(words)}`,
      access: {
        action: 'create',
        type,
        named_by: [containerField],
        locate: async (app, _caller, { item }) => locateNew(app, definition, item),
      },
      input,
      attributes,
      ...(options.createQuery ? { query: options.createQuery } : {}),
      output,
      failures: ['invalid', 'conflict', 'unauthenticated', 'forbidden', 'not_found'],
      ...recorded([containerField, 'type', ...Object.keys(options.createQuery?.shape ?? {})]),
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
    }),
    read: boundaryRoute({
      id: `read-${type}`,
      method: 'GET',
      path: one,
      summary: `Read ${article(words)}`,
      access: { action: 'read', type, locate: locateItem(definition) },
      input: none,
      output,
      failures: ['invalid', 'unauthenticated', 'forbidden', 'not_found'],
      ...resolve,
      check: ({ id }) => requireIdForm(definition, id, wordsOf(definition).malformedRead),
      run: async (app, caller, _request, located) => ({
        item: await describeResource(app, caller, definition, resourceAt(located)),
      }),
    }),
    update: boundaryRoute({
      id: `update-${type}`,
      method: 'PATCH',
      path: one,
      summary: `Change ${article(words)}`,
      access: { action: 'update', type, locate: locateItem(definition) },
      input,
      attributes,
      query: z.object({ update_mask: z.string().optional().describe('Instead of the body.') }),
      output,
      failures: ['invalid', 'conflict', 'unauthenticated', 'forbidden', 'not_found'],
      ...recorded([containerField, 'version', 'update_mask']),
      whole_fields,
      ...resolve,
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
    }),
    delete: boundaryRoute({
      id: `delete-${type}`,
      method: 'DELETE',
      path: one,
      summary: `Delete ${article(words)}`,
      access: { action: 'delete', type, locate: locateItem(definition) },
      input: none,
      output,
      failures: ['invalid', 'unauthenticated', 'forbidden', 'not_found'],
      ...resolve,
      check: ({ id }) => requireIdForm(definition, id, wordsOf(definition).malformedDelete),
      run: async (app, caller, _request, located) => {
        await deleteResource(app, caller, definition, resourceAt(located));
        return {};
      },
    }),
  };
  const only = options.only ?? ['list', 'create', 'read', 'update', 'delete'];
  return only.flatMap((name) => routes[name] ?? []);
}

/** What a verb route needs beyond what all of them have. */
export interface VerbOptions {
  fields: z.ZodRawShape;
  summary: string;
  /** What is wrong with the fields; `id` and `version` are checked already. */
  check?(item: Item, errors: FieldErrors, id: string): void;
  audit?: readonly string[];
  resolve?: StandardOptions['resolve'];
  method?: 'GET' | 'POST';
  /** Whether the body carries the version that is changed. */
  versioned?: boolean;
  run(
    app: App,
    caller: BrokerCaller,
    request: { resource: Resource; item: Item; located: Located; query: URLSearchParams },
  ): Promise<Resource | Readonly<Record<string, unknown>>>;
}

/** An endpoint `POST /v1/{plural}/{id}:{action}` that answers with the item. */
export function verbRoute(
  definition: Definition,
  action: Action,
  options: VerbOptions,
): BoundaryRoute {
  const { plural } = RESOURCE_TYPES[definition.type];
  const versioned = options.versioned ?? true;
  return boundaryRoute({
    id: `${action}-${definition.type}`,
    method: options.method ?? 'POST',
    path: `/v1/${plural}/{id}:${action}`,
    summary: options.summary,
    access: { action, type: definition.type, locate: locateItem(definition) },
    input: z.object({
      ...(versioned
        ? { version: wholeNumber().optional().describe('The latest known version.') }
        : {}),
      ...options.fields,
    }),
    output: resourceSchema,
    failures: ['invalid', 'conflict', 'unauthenticated', 'forbidden', 'not_found'],
    audit: ['version', ...(options.audit ?? [])],
    ...(options.resolve ? { resolve: options.resolve } : {}),
    check: ({ id, item }) => {
      const errors = new FieldErrors();
      if (!isIdOf(id, definition.type)) errors.add('id', 'Incorrectly formatted identifier.');
      if (versioned && !item.version) errors.add('version', 'Required field.');
      options.check?.(item, errors, id);
      errors.refuse(IN_FIELDS);
    },
    run: async (app, caller, { item, query }, located) => {
      const resource = resourceAt(located);
      if (!located) throw new TypeError('a verb is about an item');
      const done = await options.run(app, caller, { resource, item, located, query });
      return isResource(done)
        ? { item: await describeResource(app, caller, definition, done) }
        : { body: done };
    },
  });
}

function isResource(value: Resource | Readonly<Record<string, unknown>>): value is Resource {
  return 'container_id' in value && 'created_ms' in value;
}

/** Finds the item of a path, and the scope in which grants on it are looked up. */
export function locateItem(definition: Definition) {
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

async function locateNew(
  app: App,
  definition: Definition,
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

function containerOfNew(located: Located | undefined): Container {
  if (!located) throw new TypeError('a new item lies somewhere');
  return { scope: located.scope, parent: located.parent };
}

/** The item that was located. */
export function resourceAt(located: Located | undefined): Resource {
  if (!located?.resource) throw new TypeError('this endpoint is about an item');
  return located.resource;
}

/** @throws Failure `invalid` */
function requireIdForm(definition: Definition, id: string, because: string): void {
  if (!isIdOf(id, definition.type)) refuseField('id', because, IN_REQUEST);
}

function checkCreation(
  definition: Definition,
  { item: sent }: BoundaryRequest,
  options: StandardOptions,
): { item: Item; subtype: string } {
  const errors = new FieldErrors();
  checkNew(sent, errors);
  const container_id = String(sent[definition.containerField] ?? '');
  const parent = parseId(container_id)?.subtype;
  const inParent = RESOURCE_TYPES[definition.type].parent !== undefined;
  const subtype = definition.chooseSubtype(sent, inParent ? parent : undefined, errors);
  const item = withAttributes(definition, sent, subtype);
  checkContainerForm(definition, container_id, errors);
  options.checkContainer?.(item, errors);
  definition.checkNew(item, subtype, errors);
  errors.refuse(IN_REQUEST);
  return { item, subtype };
}

/** What is listed must at least look like what holds such items. */
function checkPlaceForm({ type, containerField }: Definition, query: URLSearchParams): void {
  const place = query.get(containerField) ?? '';
  const { parent, levels } = RESOURCE_TYPES[type];
  const fits = parent
    ? isIdOf(place, parent)
    : levels.some((level) => isIdOf(place, 'scope', level));
  if (fits) return;
  const because = parent
    ? 'Invalid formatted identifier.'
    : levels.length === 1
      ? `Must be '${levels[0]}' when listing.`
      : levels.includes('project')
        ? 'Must be a valid scope id when listing.'
        : "Must be 'global' or a valid org scope id when listing.";
  refuseField(containerField, because, 'Improperly formatted identifier.');
}

/** What an item lies in must at least look like what holds such items. */
function checkContainerForm(
  definition: Definition,
  container_id: string,
  errors: FieldErrors,
): void {
  const { parent, levels } = RESOURCE_TYPES[definition.type];
  if (parent !== undefined) {
    if (!isIdOf(container_id, parent)) {
      errors.add(definition.containerField, 'This field must be a valid id.');
    }
    return;
  }
  if (levels.length === 1 && levels[0] === 'project' && !isIdOf(container_id, 'scope', 'project')) {
    errors.add('scope_id', 'This field must be a valid project scope id.');
  }
}

function checkUpdate(definition: Definition, { id, item: sent, mask }: BoundaryRequest): Item {
  const errors = new FieldErrors();
  if (!isIdOf(id, definition.type)) errors.add('id', wordsOf(definition).malformedUpdate);
  else checkChanged(sent, errors);
  const subtype = parseId(id)?.subtype ?? '';
  if (definition.showsType && sent.type !== undefined && sent.type !== subtype) {
    errors.add('type', 'Cannot modify the resource type.');
  }
  const item = withAttributes(definition, sent, subtype);
  if (!errors.has('id')) definition.checkChange(item, { subtype, mask }, errors);
  errors.refuse(IN_REQUEST);
  return item;
}

/** Attributes as the subtype's schema reads them; null and absent are alike. */
function withAttributes(
  definition: Definition,
  item: Readonly<Record<string, unknown>>,
  subtype: string,
): Item {
  const { attributes } = item;
  if (typeof attributes !== 'object' || attributes === null) return item;
  const given = Object.fromEntries(
    Object.entries(attributes).filter(([, value]) => value !== null),
  );
  if (subtype === '') return { ...item, attributes: given };
  const schema = definition.attributes?.[subtype] ?? z.object({});
  const read = z.strictObject(schema.shape).safeParse(given);
  if (!read.success || Object.keys(attributes).some((key) => !(key in schema.shape))) {
    throw new Failure('invalid', IN_REQUEST, {
      fields: { attributes: 'Attribute fields do not match the expected format.' },
    });
  }
  return { ...item, attributes: read.data };
}
