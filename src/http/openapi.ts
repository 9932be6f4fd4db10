import { z } from 'zod';
import { formsOf, type Output } from '../app/output.ts';
import type { Method } from '../app/route.ts';
import type { FailureKind } from '../core/failure.ts';
import {
  inputSchemas,
  type Json,
  outputSchemas,
  propertiesOf,
  rememberedSchema,
  sorted,
} from './json-schemas.ts';

/** How one API dresses its answers, as far as a document must know. */
export interface ApiStyle {
  /** Where the payload stands in an answer. */
  wrap(payload: Json): Json;
  status(kind: FailureKind): number;
  /** Content type of a PATCH; `application/merge-patch+json` unless told. */
  patch_type?: string;
  /** Methods that are answered with 204 and no body. */
  without_content?: readonly Method[];
}

/** What of a route's declaration, of whichever API, a document tells. */
export interface DocumentedRoute {
  id: string;
  method: Method;
  path: string;
  summary: string;
  see?: readonly string[];
  access: 'public' | { capability?: string; sudo?: boolean; exists?: unknown; action?: string };
  input: z.ZodObject;
  /** Fields of the query, where the input's are those of the body alone. */
  query?: z.ZodObject;
  output: Output;
  failures: readonly FailureKind[];
  body?: 'json' | 'bytes';
}

/** Routes that are documented together: an engine at one path, or a whole API. */
export interface DocumentedApi {
  /** Groups the operations, e.g. `secrets`. */
  tag: string;
  style: ApiStyle;
  /** What the declared paths begin with, e.g. `/v1/auth/{mount}`. */
  prefix: string;
  /** What the document has in its place, e.g. `/auth/userpass` or `/auth/{userpass_mount_path}`. */
  at: string;
  /** The parameter in `at`, if it has one. */
  mount_parameter?: { name: string; by_default: string };
  /** Put before each operationId, so that two mounts of one engine can be told apart. */
  id_prefix?: string;
  routes: readonly DocumentedRoute[];
}

/** A document in the making. */
export interface Drafted {
  paths: Map<string, Json>;
  schemas: Map<string, Json>;
}

/**
 * Describes APIs from the declarations of their routes, as an OpenAPI 3.0 document.
 *
 * @param version of the API, e.g. `1.21.5`
 */
export function buildOpenApi(apis: readonly DocumentedApi[], version: string): Json {
  const drafted: Drafted = { paths: new Map(), schemas: new Map() };
  for (const api of apis) draftApi(drafted, api);
  const { paths, schemas } = drafted;
  return {
    ...frontOf(version),
    paths: Object.fromEntries(sorted(paths)),
    components: { schemas: Object.fromEntries(sorted(schemas)) },
  };
}

/** Puts one API into a document: with many mounts the whole takes long, and others wait. */
export function draftApi({ paths, schemas }: Drafted, api: DocumentedApi): void {
  for (const route of api.routes) {
    const path = documentedPath(api, route);
    const item = paths.get(path) ?? pathItem(api, route);
    Object.assign(item, extensionsOf(route), { [verbOf(route.method)]: operationOf(api, route) });
    paths.set(path, item);
    for (const [name, schema] of schemasOf(route)) schemas.set(name, schema);
  }
}

/** The document as JSON, in pieces of a path or a schema each. */
export function* writeOpenApi({ paths, schemas }: Drafted, version: string): Generator<string> {
  const member = ([name, value]: [string, Json], at: number): string =>
    `${at === 0 ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(value)}`;
  yield `${JSON.stringify(frontOf(version)).slice(0, -1)},"paths":{`;
  for (const [at, path] of sorted(paths).entries()) yield member(path, at);
  yield '},"components":{"schemas":{';
  for (const [at, schema] of sorted(schemas).entries()) yield member(schema, at);
  yield '}}}\n';
}

const frontOf = (version: string): Json => ({
  openapi: '3.0.2',
  info: {
    title: 'Gatehouse API',
    description: 'HTTP API of this server. All paths are prefixed with `/v1/`.',
    version,
    license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
  },
  servers: [{ url: '/v1' }],
});

/** A route's path in the document: `/pki/roles/{name}`; a list's ends in a slash. */
export function documentedPath(
  api: Pick<DocumentedApi, 'prefix' | 'at'>,
  route: DocumentedRoute,
): string {
  const rest = route.path.slice(api.prefix.length).replace(/\{(\w+)\+\}$/, '{$1}');
  return `${api.at}${rest}${route.method === 'LIST' ? '/' : ''}` || '/';
}

/** Names of the parameters in a route's own part of the path. */
export function pathParameters(route: DocumentedRoute): string[] {
  return [...route.path.matchAll(/\{(\w+)\+?\}/g)]
    .map((match) => match[1] ?? '')
    .filter((name) => name !== 'mount');
}

/** The schema of a route's input fields, those of the path among them. */
export function inputSchema(route: Pick<DocumentedRoute, 'input'>): Json {
  return rememberedSchema(inputSchemas, route.input, 'input');
}

/** The schema of what travels in the query besides, or instead of, the input fields. */
export function querySchema(route: DocumentedRoute): Json {
  return route.query ? inputSchema({ input: route.query }) : {};
}

function pathItem(api: DocumentedApi, route: DocumentedRoute): Json {
  const properties = propertiesOf(inputSchema(route));
  const parameters = pathParameters(route).map((name) => parameterOf(name, 'path', properties));
  const mount = api.mount_parameter;
  if (mount) {
    parameters.unshift({
      name: mount.name,
      in: 'path',
      required: true,
      description: 'Path that the engine was mounted at',
      schema: { type: 'string', default: mount.by_default },
    });
  }
  return { description: route.summary, ...(parameters.length > 0 ? { parameters } : {}) };
}

function parameterOf(name: string, place: 'path' | 'query', properties: Json): Json {
  const { description, ...schema } = (properties[name] as Json | undefined) ?? { type: 'string' };
  return {
    name,
    in: place,
    ...(place === 'path' ? { required: true } : {}),
    ...(typeof description === 'string' ? { description } : {}),
    schema,
  };
}

function extensionsOf(route: DocumentedRoute): Json {
  if (route.access === 'public') return { 'x-vault-unauthenticated': true };
  return {
    ...(route.access.sudo ? { 'x-vault-sudo': true } : {}),
    ...(route.access.exists ? { 'x-vault-createSupported': true } : {}),
  };
}

function verbOf(method: Method): string {
  return method === 'LIST' ? 'get' : method.toLowerCase();
}

function operationOf(api: DocumentedApi, route: DocumentedRoute): Json {
  const fields = queryOrBodyFields(route);
  const takesBody = route.method === 'POST' || route.method === 'PATCH';
  const inQuery = { ...(takesBody ? {} : fields), ...propertiesOf(querySchema(route)) };
  const parameters = Object.keys(inQuery).map((name) => parameterOf(name, 'query', inQuery));
  if (route.method === 'LIST') {
    parameters.unshift({
      name: 'list',
      in: 'query',
      required: true,
      description: 'Must be `true`; the verb LIST says the same',
      schema: { type: 'string', enum: ['true'] },
    });
  }
  return {
    summary: route.summary,
    ...(route.see?.length ? { description: `See ${route.see.join(', ')}.` } : {}),
    operationId: `${api.id_prefix ?? ''}${route.id}`,
    tags: [api.tag],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(takesBody ? requestBodyOf(api, route, fields) : {}),
    responses: responsesOf(api, route),
  };
}

/** Input fields that do not travel in the path. */
function queryOrBodyFields(route: DocumentedRoute): Json {
  const inPath = pathParameters(route);
  const properties = propertiesOf(inputSchema(route));
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !inPath.includes(name)));
}

function requestBodyOf(api: DocumentedApi, route: DocumentedRoute, fields: Json): Json {
  if (route.body === 'bytes') {
    const bytes = { schema: { type: 'string', format: 'binary' } };
    return { requestBody: { required: true, content: { 'application/octet-stream': bytes } } };
  }
  if (Object.keys(fields).length === 0) return {};
  const patch = api.style.patch_type ?? 'application/merge-patch+json';
  const type = route.method === 'PATCH' ? patch : 'application/json';
  const schema = { $ref: `#/components/schemas/${schemaName(route, 'Request')}` };
  return { requestBody: { required: true, content: { [type]: { schema } } } };
}

function responsesOf(api: DocumentedApi, route: DocumentedRoute): Json {
  const statuses = new Map<string, string>();
  const refusals: readonly FailureKind[] =
    route.access === 'public' ? route.failures : [...route.failures, 'forbidden'];
  for (const kind of refusals) {
    const status = String(api.style.status(kind));
    const known = statuses.get(status);
    const word = kind.replaceAll('_', ' ');
    statuses.set(status, known === undefined || known === word ? word : `${known}, ${word}`);
  }
  const schema = payloadOf(route)
    ? api.style.wrap({ $ref: `#/components/schemas/${schemaName(route, 'Response')}` })
    : undefined;
  const done = api.style.without_content?.includes(route.method)
    ? { 204: { description: 'No content' } }
    : {
        200: {
          description: 'OK',
          ...(schema ? { content: { 'application/json': { schema } } } : {}),
        },
      };
  return {
    ...done,
    ...Object.fromEntries([...statuses].map(([status, description]) => [status, { description }])),
  };
}

/** What a route declares of its payload; undefined where it says "some object". */
function payloadOf(route: DocumentedRoute): z.ZodObject | undefined {
  for (const choice of formsOf(route.output)) {
    const schema = 'schema' in choice ? choice.schema : undefined;
    if (schema instanceof z.ZodObject && Object.keys(schema.shape).length > 0) return schema;
  }
  return undefined;
}

function schemasOf(route: DocumentedRoute): [string, Json][] {
  const named: [string, Json][] = [];
  const fields = queryOrBodyFields(route);
  const takesBody = route.method === 'POST' || route.method === 'PATCH';
  if (takesBody && route.body !== 'bytes' && Object.keys(fields).length > 0) {
    const required = (inputSchema(route).required as string[] | undefined)?.filter(
      (name) => name in fields,
    );
    named.push([
      schemaName(route, 'Request'),
      { type: 'object', properties: fields, ...(required?.length ? { required } : {}) },
    ]);
  }
  const payload = payloadOf(route);
  if (payload) {
    const schema = rememberedSchema(outputSchemas, payload, 'output');
    named.push([schemaName(route, 'Response'), schema]);
  }
  return named;
}

/** `pki-write-role` becomes `PkiWriteRoleRequest`. */
function schemaName(route: DocumentedRoute, what: 'Request' | 'Response'): string {
  const words = route.id
    .split(/[-_]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1));
  return `${words.join('')}${what}`;
}
