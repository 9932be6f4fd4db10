import type { Method } from '../app/route.ts';
import { memoizeWeak } from '../core/memoize-weak.ts';
import { type DocumentedApi, type DocumentedRoute, pathParameters } from './documented-api.ts';
import {
  type ApiComponents,
  componentsOf,
  fieldsOf,
  requestRef,
  takesBody,
} from './documented-schemas.ts';
import { inputSchemaOf, type Json, propertiesOf, requiredIn } from './json-schemas.ts';

/** A document in the making. */
export class Draft {
  readonly paths = new Map<string, Json>();
  readonly components = { schemas: new Map<string, Json>(), responses: new Map<string, Json>() };
}

type Components = Draft['components'];

/**
 * Describes APIs from the declarations of their routes, as an OpenAPI 3.0 document.
 *
 * @param version of the API, e.g. `1.21.5`
 */
export function buildOpenApi(apis: readonly DocumentedApi[], version: string): Json {
  const draft = new Draft();
  for (const api of apis) draftApi(draft, api);
  const { schemas, responses } = draft.components;
  return {
    ...frontOf(version),
    paths: Object.fromEntries(sorted(draft.paths)),
    components: {
      schemas: Object.fromEntries(sorted(schemas)),
      responses: Object.fromEntries(sorted(responses)),
    },
  };
}

/** Puts one API into a document: with many mounts the whole takes long, and others wait. */
export function draftApi({ paths, components }: Draft, api: DocumentedApi): void {
  const shared = componentsOf(api);
  for (const route of api.routes) {
    const path = documentedPath(api, route);
    const item = paths.getOrInsertComputed(path, () => pathItem(api, route));
    const responses = shared.responsesOf(route);
    const operation = { ...operationOf(api, route), responses };
    Object.assign(item, extensionsOf(route), { [verbOf(route.method)]: operation });
    addComponents(components, shared, responses);
    const request = requestRef(route);
    if (request) addComponents(components, shared, request);
  }
}

/** Components that something refers to, and those that they do, each once. */
function addComponents(draft: Components, shared: ApiComponents, value: Json): void {
  for (const { kind, name } of referencesIn(value)) {
    const found = shared[kind].get(name);
    if (!found || draft[kind].has(name)) continue;
    draft[kind].set(name, found);
    addComponents(draft, shared, found);
  }
}

const REFERENCE = /"#\/components\/(schemas|responses)\/(\w+)"/g;

/** Looked for once in what many operations refer to. */
const referencesIn = memoizeWeak((value: Json) =>
  [...JSON.stringify(value).matchAll(REFERENCE)].map(([, kind, name = '']) => ({
    kind: kind as keyof Components,
    name,
  })),
);

/** The document as JSON, in pieces of a path or a component each. */
export function* writeOpenApi(draft: Draft, version: string): Generator<string> {
  const member = ([name, value]: [string, Json], at: number): string =>
    `${at === 0 ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(value)}`;
  const { schemas, responses } = draft.components;
  yield `${JSON.stringify(frontOf(version)).slice(0, -1)},"paths":{`;
  for (const [at, path] of sorted(draft.paths).entries()) yield member(path, at);
  yield '},"components":{"schemas":{';
  for (const [at, schema] of sorted(schemas).entries()) yield member(schema, at);
  yield '},"responses":{';
  for (const [at, response] of sorted(responses).entries()) yield member(response, at);
  yield '}}}\n';
}

function sorted(entries: ReadonlyMap<string, Json>): [string, Json][] {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
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

function pathItem(api: DocumentedApi, route: DocumentedRoute): Json {
  const parameters = parametersOf('path', inputSchemaOf(route.input), pathParameters(route));
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

function parametersOf(place: 'path' | 'query', fields: Json, names: readonly string[]): Json[] {
  const properties = propertiesOf(fields);
  const required = place === 'path' ? names : requiredIn(fields);
  return names.map((name) => {
    const { description, ...schema } = (properties[name] as Json | undefined) ?? { type: 'string' };
    return {
      name,
      in: place,
      ...(required.includes(name) ? { required: true } : {}),
      ...(typeof description === 'string' ? { description } : {}),
      schema,
    };
  });
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
  const query = route.query ? inputSchemaOf(route.query) : {};
  const inQuery = propertiesOf(query);
  const own = takesBody(route) ? [] : Object.keys(fieldsOf(route));
  const parameters = [
    ...parametersOf(
      'query',
      inputSchemaOf(route.input),
      own.filter((name) => !(name in inQuery)),
    ),
    ...parametersOf('query', query, Object.keys(inQuery)),
  ];
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
    ...requestBodyOf(api, route),
  };
}

function requestBodyOf(api: DocumentedApi, route: DocumentedRoute): Json {
  if (takesBody(route) && route.body === 'bytes') {
    const bytes = { schema: { type: 'string', format: 'binary' } };
    return { requestBody: { required: true, content: { 'application/octet-stream': bytes } } };
  }
  const schema = requestRef(route);
  if (!schema) return {};
  const patch = api.style.patch_type ?? 'application/merge-patch+json';
  const type = route.method === 'PATCH' ? patch : 'application/json';
  return { requestBody: { required: true, content: { [type]: { schema } } } };
}
