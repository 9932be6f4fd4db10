import { z } from 'zod';
import { RESOURCE_TYPES, typeOfPlural } from '../../src/broker/resource/types.ts';
import { declaredRoutes } from '../../src/start/routes.ts';
import type { Sent } from './measure.ts';
import { jsonTextShapes, listShapes, mapShapes, type Shape, textShapes } from './shapes.ts';
import type { Asker, World } from './world.ts';

/** An endpoint of either API, as far as its fields go. */
export interface Endpoint {
  api: 'vault' | 'broker';
  id: string;
  method: string;
  path: string;
  /** The mount that it is tried at. */
  mount: string;
  bytes: boolean;
  most: number;
  body: Readonly<Record<string, z.ZodType>>;
  query: readonly string[];
  parameters: readonly string[];
  /** Fields of `attributes`, by subtype. */
  attributes: Readonly<Record<string, Readonly<Record<string, z.ZodType>>>>;
}

/** Where a text is put. */
export type Place =
  | { at: 'body' | 'query' | 'path'; name: string }
  | { at: 'attributes'; subtype: string; name: string }
  | { at: 'header'; name: string }
  /** The body itself. */
  | { at: 'bytes' };

export interface Field {
  endpoint: Endpoint;
  place: Place;
  shapes: readonly Shape[];
}

/** One request, ready but for who sends it. */
export interface Case {
  field: Field;
  shape: Shape;
  room: number;
}

const MAX_BODY = 1 << 20;
const MAX_PUBLIC_BODY = 64 << 10;
/** What a path, a query or a header may have, next to the rest of the head. */
const MAX_HEAD = 12_000;

const MOUNTS: Readonly<Record<string, string>> = {
  pki: 'pki',
  cubbyhole: 'cubbyhole',
  identity: 'identity',
  token: 'token',
  userpass: 'userpass',
  approle: 'approle',
};

/** Endpoints that would end the trial, whatever is sent; they have no field but their name. */
const SPARED: ReadonlySet<string> = new Set([
  'seal',
  'token-revoke-self',
  'encryption-key-rotate',
  'encryption-key-rotate-keyring',
]);

/** Every declared endpoint. */
export function listEndpoints(): Endpoint[] {
  const { system, secret, auth, broker } = declaredRoutes;
  const engines = [['', system] as const, ...Object.entries(secret), ...Object.entries(auth)];
  const vault = engines.flatMap(([engine, routes]) =>
    routes.map((route): Endpoint => {
      const isPublic = route.access === 'public';
      const parameters = parametersOf(route.path);
      const fields = Object.entries<z.ZodType>(route.input.shape).filter(
        ([name]) => !parameters.includes(name),
      );
      const inBody = route.method === 'POST' || route.method === 'PATCH';
      return {
        api: 'vault',
        id: route.id,
        method: route.method,
        path: route.path,
        mount: MOUNTS[engine] ?? '',
        bytes: route.body === 'bytes',
        most: route.max_body ?? (isPublic ? MAX_PUBLIC_BODY : MAX_BODY),
        // A field that no endpoint has is read, too: conditions of policies see it.
        body:
          inBody && route.body !== 'bytes'
            ? { ...Object.fromEntries(fields), zz: z.unknown() }
            : {},
        query: inBody ? [] : [...fields.map(([name]) => name), 'list'],
        parameters,
        attributes: {},
      };
    }),
  );
  const brokers = broker.map((route): Endpoint => {
    const inBody =
      (route.method === 'POST' || route.method === 'PATCH') && route.access !== 'public';
    const query = Object.keys(route.query?.shape ?? {});
    const isList = route.access !== 'public' && route.access.action.startsWith('list');
    const attributes = Object.entries(route.attributes ?? {}).map(
      ([subtype, schema]) => [subtype, schema.shape] as const,
    );
    return {
      api: 'broker',
      id: route.id,
      method: route.method,
      path: route.path,
      mount: '',
      bytes: false,
      most: route.max_body ?? MAX_BODY,
      body: inBody ? { ...route.input.shape, zz: z.unknown() } : {},
      query: [...new Set([...query, ...(isList ? ['filter', 'list_token', 'page_size'] : [])])],
      parameters: parametersOf(route.path),
      attributes: Object.fromEntries(attributes),
    };
  });
  return [...vault, ...brokers].filter(({ id }) => !SPARED.has(id));
}

const parametersOf = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\+?\}/g)].flatMap(([, name = '']) => (name === 'mount' ? [] : [name]));

/** Headers that either API reads, and some that only the listener does. */
const HEADERS = [
  'authorization', 'cookie', 'x-vault-token', 'x-vault-namespace', 'x-vault-wrap-ttl',
  'x-vault-wrap-format', 'x-vault-request', 'x-vault-mfa', 'x-correlation-id', 'if-modified-since',
  'if-none-match', 'content-type', 'accept', 'accept-encoding', 'origin', 'host', 'x-forwarded-for',
  'x-forwarded-proto', 'forwarded', 'access-control-request-method', 'range', 'user-agent', 'expect-x',
]; // biome-ignore format: one table

const HEADER_ENDPOINTS = [
  'mounts-list',
  'pki-read-ca-pem',
  'pki-issue-with-role',
  'userpass-login',
  'list-targets',
  'authenticate-auth-method',
];

/** Every field of every endpoint, with the shapes that mean something to it. */
export function listFields(frames: 'some' | 'all'): Field[] {
  const texts = textShapes(frames);
  const endpoints = listEndpoints();
  return endpoints.flatMap((endpoint): Field[] => {
    const field = (place: Place, shapes: readonly Shape[]): Field => ({ endpoint, place, shapes });
    const isHostileTo = (type: z.ZodType): readonly Shape[] => shapesOf(type, texts);
    const inHead = texts.filter(({ name }) => !name.includes('\\u0000'));
    return [
      ...Object.entries(endpoint.body).map(([name, type]) =>
        field({ at: 'body', name }, isHostileTo(type)),
      ),
      ...Object.entries(endpoint.attributes).flatMap(([subtype, shape]) =>
        Object.entries(shape).map(([name, type]) =>
          field({ at: 'attributes', subtype, name }, isHostileTo(type)),
        ),
      ),
      ...endpoint.query.map((name) => field({ at: 'query', name }, texts)),
      ...endpoint.parameters.map((name) => field({ at: 'path', name }, texts)),
      ...(endpoint.bytes && endpoint.method === 'POST' ? [field({ at: 'bytes' }, texts)] : []),
      ...(HEADER_ENDPOINTS.includes(endpoint.id)
        ? HEADERS.map((name) => field({ at: 'header', name }, inHead))
        : []),
    ];
  });
}

function shapesOf(type: z.ZodType, texts: readonly Shape[]): readonly Shape[] {
  const kind = z.toJSONSchema(type, { io: 'output', unrepresentable: 'any' }).type;
  if (kind === 'array') return [...listShapes, ...jsonTextShapes, ...texts];
  if (kind === 'object') return [...mapShapes, ...jsonTextShapes, ...texts];
  if (kind === 'string' || kind === 'number' || kind === 'integer' || kind === 'boolean')
    return texts;
  return [...listShapes, ...mapShapes, ...jsonTextShapes, ...texts];
}

/** As much as there is, and as much as a cap of some thousand characters lets through. */
const ROOMS = [Number.POSITIVE_INFINITY, 128 << 10, Number.POSITIVE_INFINITY, 8_000];

/**
 * Some of a field's shapes: other ones for each field, so that fields of one kind together meet
 * all of them.
 *
 * @param turn of the field among all fields
 */
export function chooseCases(field: Field, turn: number, count: number): Case[] {
  const { shapes } = field;
  const chosen: Case[] = [];
  for (let at = 0; at < Math.min(count, shapes.length); at++) {
    const shape =
      shapes[(turn * 7 + at * (Math.floor(shapes.length / count) || 1)) % shapes.length];
    const room = ROOMS[(turn + at) % ROOMS.length] ?? Number.POSITIVE_INFINITY;
    if (shape) chosen.push({ field, shape, room });
  }
  // What takes lists or maps meets them as a text as well.
  const ofJson = jsonTextShapes[turn % jsonTextShapes.length];
  if (ofJson && shapes.includes(ofJson)) {
    chosen.push({ field, shape: ofJson, room: Number.POSITIVE_INFINITY });
  }
  return chosen;
}

/** Every shape, in both lengths. */
export function allCases(field: Field): Case[] {
  return field.shapes.flatMap((shape) =>
    [Number.POSITIVE_INFINITY, 500, 8_000].map((room) => ({ field, shape, room })),
  );
}

const describePlace = (place: Place): string =>
  'name' in place ? `${place.at} ${place.name}` : place.at;

/** What a finding is called. */
export function describeCase({ field, shape, room }: Case, asker: Asker): string {
  const { method, path } = field.endpoint;
  const size = room === Number.POSITIVE_INFINITY ? 'all there is room for' : `${room} bytes`;
  return `${method} ${path}, ${describePlace(field.place)}: ${shape.name}, ${size}, by ${asker.name}`;
}

/** The request of a case. */
export function requestOf({ field, shape, room }: Case, world: World, asker: Asker): Sent {
  const { endpoint, place } = field;
  const isBody = place.at === 'body' || place.at === 'attributes' || place.at === 'bytes';
  const base = baseOf(endpoint, place, world);
  const most = isBody ? endpoint.most - JSON.stringify(base).length - 200 : MAX_HEAD;
  const value = shape.make(Math.min(room, most));
  const text = isBody ? '' : textOf(value, place.at === 'header' ? 'header' : 'url');
  const body = bodyOf(endpoint, place, base, value);
  const headers: Record<string, string> = { ...asker[endpoint.api] };
  if (endpoint.id === 'wrap') headers['x-vault-wrap-ttl'] = '60';
  if (body) headers['content-type'] = contentType(endpoint);
  if (place.at === 'header') headers[place.name] = text;
  const target = targetOf(endpoint, place, world, text);
  const method = endpoint.method === 'LIST' ? 'GET' : endpoint.method;
  return { method, target, headers, ...(body ? { body } : {}) };
}

const contentType = ({ api, method }: Endpoint): string =>
  api === 'vault' && method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';

type Fields = Readonly<Record<string, unknown>>;

function baseOf(endpoint: Endpoint, place: Place, world: World): Fields {
  const isChange = endpoint.api === 'broker' && !endpoint.id.startsWith('create-');
  const plain = world.bodies[endpoint.id] ?? (isChange ? { version: 1 } : {});
  if (place.at !== 'attributes') return plain;
  return { ...plain, ...world.subtypes[endpoint.id]?.[place.subtype] };
}

function bodyOf(
  { method, body, bytes }: Endpoint,
  place: Place,
  base: Fields,
  value: unknown,
): Buffer | undefined {
  if (place.at === 'bytes') return Buffer.from(String(value));
  if (bytes || (method !== 'POST' && method !== 'PATCH')) return undefined;
  if (place.at === 'body') return Buffer.from(JSON.stringify({ ...base, [place.name]: value }));
  if (place.at === 'attributes') {
    const attributes = { ...(base.attributes as object | undefined), [place.name]: value };
    return Buffer.from(JSON.stringify({ ...base, attributes }));
  }
  return Object.keys(body).length > 0 ? Buffer.from(JSON.stringify(base)) : undefined;
}

/** A text as it can stand in a head. */
function textOf(value: unknown, where: 'header' | 'url'): string {
  const text = String(value);
  // What is no Latin-1 cannot be sent, and controls end the request before anybody reads it.
  if (where === 'header') return text.replaceAll(/[^\x20-\x7e\xa1-\xff]/g, ' ').trim();
  const encoded = encodeURIComponent(text).slice(0, MAX_HEAD);
  return encoded.replace(/%[0-9A-F]?$/, '');
}

function targetOf(endpoint: Endpoint, place: Place, world: World, text: string): string {
  const filled = endpoint.path
    .replace('{mount}', endpoint.mount)
    .replaceAll(/\{(\w+)\+?\}/g, (_, name: string) =>
      place.at === 'path' && place.name === name ? text : parameterOf(endpoint, name, world),
    );
  const query = new URLSearchParams();
  if (endpoint.method === 'LIST') query.set('list', 'true');
  if (endpoint.api === 'broker' && endpoint.id.startsWith('list-')) {
    for (const name of endpoint.query) {
      const type = typeOfField(name);
      if (type)
        query.set(name, type === 'scope' ? scopeOf(endpoint, world) : (world.ids[type] ?? ''));
    }
  }
  const tried = place.at === 'query' ? `${place.name}=${text}` : '';
  if (place.at === 'query') query.delete(place.name);
  const parts = [query.toString(), tried].filter((part) => part !== '').join('&');
  return parts === '' ? filled : `${filled}?${parts}`;
}

const typeOfField = (name: string): keyof World['ids'] | undefined =>
  Object.keys(RESOURCE_TYPES).find((type) => name === `${type.replaceAll('-', '_')}_id`);

/** A scope that such things are listed in. */
function scopeOf({ path }: Endpoint, world: World): string {
  const type = typeOfPlural(path.slice('/v1/'.length));
  const global = type === undefined || RESOURCE_TYPES[type].levels.includes('global');
  return global ? 'global' : String(world.ids.scope);
}

function parameterOf({ api, id, path }: Endpoint, name: string, world: World): string {
  if (api === 'vault') return String(world.paths[id] ?? world.paths[name] ?? 'none');
  const type = typeOfPlural(/^\/v1\/([a-z-]+)/.exec(path)?.[1] ?? '');
  return (type && world.ids[type]) ?? 'none';
}
