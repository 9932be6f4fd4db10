import type { z } from 'zod';
import { formsOf } from '../app/output.ts';
import type { FurtherStatus } from '../app/route.ts';
import { memoizeWeak } from '../core/memoize-weak.ts';
import { doAll, type Steps } from '../core/steps.ts';
import {
  type ApiStyle,
  type DocumentedAnswer,
  type DocumentedApi,
  type DocumentedRoute,
  pathParameters,
} from './documented-api.ts';
import {
  inputSchemaOf,
  type Json,
  outputSchemaOf,
  propertiesOf,
  requiredIn,
} from './json-schemas.ts';
import { pascal, refTo, shareSchemas } from './shared-schemas.ts';

/** What the operations of some routes refer to. */
export interface ApiComponents {
  readonly schemas: ReadonlyMap<string, Json>;
  readonly responses: ReadonlyMap<string, Json>;
  /** By status; whatever else may come under `default`. */
  responsesOf(route: DocumentedRoute): Json;
}

const prepared = new WeakMap<readonly DocumentedRoute[], ApiComponents>();

/** Made once of all routes that are declared together: declarations never change. */
export function componentsOf(api: DocumentedApi): ApiComponents {
  return doAll(prepareComponents(api));
}

/** Makes it in as many steps as it has parts, for whoever has others to let go on. */
export function* prepareComponents({
  style,
  routes,
  all = routes,
}: DocumentedApi): Steps<ApiComponents> {
  const known = prepared.get(all);
  if (known) return known;
  const roots = new Map<string, Json>();
  for (const [name, type] of Object.entries(style.schemas)) roots.set(name, outputSchemaOf(type));
  for (const route of all) {
    for (const [name, schema] of schemasOf(route)) roots.set(name, schema);
    yield;
  }
  const schemas = yield* shareSchemas(roots);
  const responses = new Map<string, Json>();
  const byRoute = new Map<DocumentedRoute, Json>();
  for (const route of all) {
    const named = responsesOf(style, route);
    for (const [, name, response] of named) responses.set(name, response);
    const references = named.map(([status, name]) => [
      status,
      { $ref: `#/components/responses/${name}` },
    ]);
    byRoute.set(route, Object.fromEntries(references));
  }
  const made = {
    schemas,
    responses,
    responsesOf: (route: DocumentedRoute) => byRoute.get(route) ?? {},
  };
  prepared.set(all, made);
  return made;
}

/** `pki-write-role` becomes `PkiWriteRole`. */
const nameOf = (route: Pick<DocumentedRoute, 'id'>): string => pascal(route.id);

export const takesBody = ({ method }: DocumentedRoute): boolean =>
  method === 'POST' || method === 'PATCH';

/** Input fields that do not travel in the path. */
export function fieldsOf(route: DocumentedRoute): Json {
  const inPath = pathParameters(route);
  const fields = Object.entries(propertiesOf(inputSchemaOf(route.input)));
  return Object.fromEntries(fields.filter(([name]) => !inPath.includes(name)));
}

/** Schemas of what a route takes and gives, by name. */
function schemasOf(route: DocumentedRoute): [string, Json][] {
  const request: [string, Json][] = requestRef(route)
    ? [[requestName(route), requestSchema(route)]]
    : [];
  return [
    ...request,
    ...payloadsOf(route).map((payload): [string, Json] => [
      payloadName(route, payload),
      outputSchemaOf(payload),
    ]),
  ];
}

/** To the schema of what its body holds; undefined where it takes none, or bytes. */
export const requestRef: (route: DocumentedRoute) => Json | undefined = memoizeWeak((route) =>
  takesBody(route) && route.body !== 'bytes' && Object.keys(fieldsOf(route)).length > 0
    ? refTo(requestName(route))
    : undefined,
);

const requestName = (route: DocumentedRoute): string => `${nameOf(route)}Request`;

function requestSchema(route: DocumentedRoute): Json {
  const properties = fieldsOf(route);
  const needed = requiredIn(inputSchemaOf(route.input)).filter((name) => name in properties);
  const bySubtype = Object.entries(route.attributes ?? {}).map(([title, fields]) => ({
    title,
    ...inputSchemaOf(fields),
  }));
  const attributes = properties.attributes as Json | undefined;
  if (attributes && bySubtype.length > 0) {
    const { description } = attributes;
    properties.attributes = { ...(description ? { description } : {}), anyOf: bySubtype };
  } else if (route.attributes) delete properties.attributes;
  return { type: 'object', properties, ...(needed.length > 0 ? { required: needed } : {}) };
}

function payloadsOf(route: DocumentedRoute): z.ZodType[] {
  return formsOf(route.output).flatMap((form) => ('schema' in form ? [form.schema] : []));
}

function payloadName(route: DocumentedRoute, payload: z.ZodType): string {
  const at = payloadsOf(route).indexOf(payload);
  return `${nameOf(route)}Response${at > 0 ? at + 1 : ''}`;
}

type NamedResponse = [status: string, name: string, response: Json];
type Body = NonNullable<DocumentedAnswer['body']>;

function responsesOf(style: ApiStyle, route: DocumentedRoute): NamedResponse[] {
  const answers = style.answersOf(route, (payload) => refTo(payloadName(route, payload)));
  const bodies = new Map<FurtherStatus, Body[]>();
  for (const { status, body } of answers) {
    bodies.set(status, [...(bodies.get(status) ?? []), ...(body ? [body] : [])]);
  }
  const [first = []] = bodies.values();
  for (const status of route.statuses ?? []) {
    // A refusal may come with it as well.
    const all = [...first, ...(String(status) < '4' ? [] : [refusalBody(style)])];
    bodies.set(status, status === 304 ? [] : all);
  }
  return [
    ...refusalsOf(style, route),
    ...[...bodies].map(([status, same]) => responseOf(route, status, same)),
  ];
}

const WORDS: ReadonlyMap<FurtherStatus, string> = new Map([
  [202, 'Accepted'],
  [204, 'No content'],
  [304, 'Not modified'],
]);

function responseOf(
  route: DocumentedRoute,
  status: FurtherStatus,
  bodies: readonly Body[],
): NamedResponse {
  const description = WORDS.get(status) ?? 'OK';
  if (bodies.length === 0) {
    return [String(status), pascal(description), { description }];
  }
  const byType = Map.groupBy(bodies, ({ media_type }) => media_type);
  const content = [...byType].map(([media_type, same]) => {
    const [only, ...others] = same.map(({ schema }) => schema);
    return [media_type, { schema: others.length > 0 ? { anyOf: [only, ...others] } : only }];
  });
  const name = `${nameOf(route)}${status}`;
  return [String(status), name, { description, content: Object.fromEntries(content) }];
}

const refusalBody = (style: ApiStyle): Body => ({
  media_type: 'application/json',
  schema: refTo(style.refusal),
});

const EVERYWHERE =
  'What any request may be refused with: 400 unreadable, 404 in a namespace that is not there, 413 too long, 429 too much at once, 500 a fault of the server, 503 sealed or not available.';

/** One response for all refusals of the same kinds. */
function refusalsOf(style: ApiStyle, route: DocumentedRoute): NamedResponse[] {
  const kinds = [
    ...new Set([...route.failures, ...(route.access === 'public' ? [] : ['forbidden' as const])]),
  ];
  const { media_type, schema } = refusalBody(style);
  const content = { [media_type]: { schema } };
  const everywhere = [EVERYWHERE, style.refused_everywhere ?? []].flat().join(' ');
  const byStatus = Map.groupBy(kinds, (kind) => String(style.status(kind)));
  return [
    ...[...byStatus].map(([status, same]): NamedResponse => {
      const sorted = same.toSorted();
      const description = sorted.join(', ').replaceAll('_', ' ');
      return [status, style.name + sorted.map(pascal).join('Or'), { description, content }];
    }),
    ['default', `${style.name}Refusal`, { description: everywhere, content }],
  ];
}
