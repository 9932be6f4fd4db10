import type { z } from 'zod';
import { formsOf } from '../app/output.ts';
import { memoizeWeak } from '../core/memoize-weak.ts';
import {
  type DocumentedAnswer,
  type DocumentedApi,
  type DocumentedRoute,
  pathParameters,
} from './documented-api.ts';
import { inputSchemaOf, type Json, outputSchemaOf, propertiesOf } from './json-schemas.ts';
import { pascal, refTo, shareSchemas } from './shared-schemas.ts';

/** What the operations of some routes refer to. */
export interface Library {
  readonly components: Readonly<Record<'schemas' | 'responses', ReadonlyMap<string, Json>>>;
  /** By status; whatever else may come under `default`. */
  responsesOf(route: DocumentedRoute): Json;
}

const libraries = new WeakMap<readonly DocumentedRoute[], Library>();

/** Made once of all routes that are declared together: declarations never change. */
export function libraryOf(api: DocumentedApi): Library {
  const steps = prepareLibrary(api);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Makes it in as many steps as it has parts, for whoever has others to let go on. */
export function* prepareLibrary({
  style,
  routes,
  all = routes,
}: DocumentedApi): Generator<void, Library> {
  const known = libraries.get(all);
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
  const library: Library = {
    components: { schemas, responses },
    responsesOf: (route) => byRoute.get(route) ?? {},
  };
  libraries.set(all, library);
  return library;
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
  const { required } = inputSchemaOf(route.input);
  const needed = Array.isArray(required) ? required.filter((name) => name in properties) : [];
  const bySubtype = Object.entries(route.attributes ?? {}).map(([title, fields]) => ({
    title,
    ...inputSchemaOf(fields),
  }));
  const attributes = properties.attributes as Json | undefined;
  if (attributes && bySubtype.length > 0) {
    const { description } = attributes;
    properties.attributes = { ...(description ? { description } : {}), anyOf: bySubtype };
  }
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

function responsesOf(style: DocumentedApi['style'], route: DocumentedRoute): NamedResponse[] {
  const answers = style.answersOf(route, (payload) => refTo(payloadName(route, payload)));
  const done = Map.groupBy(answers, ({ status }) => status);
  const further = (route.statuses ?? []).map((status): typeof done => {
    const [first] = done.values();
    return new Map(first ? [[status, first]] : []);
  });
  return [
    ...[done, ...further].flatMap((each) =>
      [...each].map(([status, same]) => responseOf(route, status, same)),
    ),
    ...refusalsOf(style, route),
  ];
}

const WORDS: Readonly<Record<number, string>> = { 202: 'Accepted', 204: 'No content' };

function responseOf(
  route: DocumentedRoute,
  status: number,
  answers: readonly DocumentedAnswer[],
): NamedResponse {
  const bodies = answers.flatMap(({ body }) => (body ? [body] : []));
  const content = Object.fromEntries(
    [...Map.groupBy(bodies, ({ media_type }) => media_type)].map(([media_type, same]) => {
      const [only, ...others] = same.map(({ schema }) => schema);
      const schema = others.length > 0 ? { anyOf: [only, ...others] } : only;
      return [media_type, { schema }];
    }),
  );
  const description = WORDS[status] ?? 'OK';
  const name =
    bodies.length > 0 ? `${nameOf(route)}${status}` : pascal(description.replace(' ', '-'));
  return [String(status), name, { description, ...(bodies.length > 0 ? { content } : {}) }];
}

const EVERYWHERE =
  'What any request may be refused with: 400 unreadable, 413 too long, 429 too much at once, 500 a fault of the server, 503 sealed or not available.';

/** One response for all refusals of the same kinds. */
function refusalsOf(style: DocumentedApi['style'], route: DocumentedRoute): NamedResponse[] {
  const kinds = [
    ...new Set([...route.failures, ...(route.access === 'public' ? [] : ['forbidden' as const])]),
  ];
  const schema = refTo(style.refusal);
  const content = { 'application/json': { schema } };
  const everywhere = [EVERYWHERE, style.refused_everywhere ?? []].flat().join(' ');
  const byStatus = Map.groupBy(kinds, (kind) => String(style.status(kind)));
  return [
    ...[...byStatus].map(([status, same]): NamedResponse => {
      const name =
        style.name +
        same
          .sort()
          .map((kind) => pascal(kind.replaceAll('_', '-')))
          .join('Or');
      const description = same.map((kind) => kind.replaceAll('_', ' ')).join(', ');
      return [status, name, { description, content }];
    }),
    ['default', `${style.name}Refusal`, { description: everywhere, content }],
  ];
}
