import { ZodError, type z } from 'zod';
import { SERVER_MOUNT } from '../access/system-caller.ts';
import type { App } from '../app/app.ts';
import type { RecordedEnd } from '../app/audit-trail.ts';
import type { Caller, RecordFacts, TokenFacts } from '../app/caller.ts';
import type { Mount } from '../app/mount.ts';
import type { AnyRoute, Capability, Method } from '../app/route.ts';
import { concealSegments } from '../audit/conceal.ts';
import { hashSecret } from '../audit/operations.ts';
import { Hashes, UNTOLD } from '../audit/told.ts';
import { isPlainObject } from '../core/conversions.ts';
import { tellEnded } from '../core/ended-counts.ts';
import { Failure } from '../core/failure.ts';
import { mayHaveUser } from '../core/place.ts';
import { recordable } from '../core/recorded-shape.ts';
import { concealTexts } from './concealed-words.ts';

/** What of an endpoint's declaration decides how its requests are recorded; either API's has it. */
export interface RecordedRoute {
  readonly id: string;
  readonly method: string;
  readonly access: unknown;
  readonly input?: { readonly shape: Readonly<Record<string, z.ZodType>> };
  readonly body?: 'json' | 'bytes';
  readonly path: string;
  readonly audit?: readonly string[];
  readonly audit_within?: Readonly<Record<string, readonly string[]>>;
  readonly mistaken?: readonly string[];
  readonly places?: readonly string[];
  readonly while_sealed?: boolean;
}

/** What is known of a request so far, and so can be recorded however it ends. */
export interface RequestContext {
  readonly request_id: string;
  /** Whether the caller was authenticated: earlier refusals do not depend on who asks. */
  is_asker_sought: boolean;
  mount: Mount;
  record: RecordFacts;
  route: RecordedRoute | undefined;
  /** By whose declaration names in its path are concealed: `route`, or another route of that path. */
  concealing: RecordedRoute | undefined;
  token: TokenFacts | undefined;
  /** Keyed hash of a token that came along and is not one of ours. */
  unknown_token: Uint8Array | undefined;
  /** Once the request is read whole. */
  caller: Caller | undefined;
  /** A path without a route, which may hold anything, secrets too. */
  unknown_path: string | undefined;
  /** Names in its path, until the fields are read: all that the record of an earlier refusal can tell. */
  named: Readonly<Record<string, unknown>> | undefined;
  /** Its fields before they are checked against the declaration. */
  unchecked: Readonly<Record<string, unknown>> | undefined;
}

export const OPERATION: Record<Method, Capability> = {
  GET: 'read',
  LIST: 'list',
  POST: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** What records tell of a token. */
export const forRecords = (token: TokenFacts | undefined): TokenFacts | undefined =>
  token && { ...token, meta: null };

/** Of what leads to no mount, or not yet. */
const NOWHERE: Mount = { ...SERVER_MOUNT, path: '' };

export function startTrace(request_id: string, remote_address: string): RequestContext {
  return {
    request_id,
    is_asker_sought: false,
    mount: NOWHERE,
    record: {
      route: '',
      operation: '',
      path: '',
      remote_address,
      request: {},
      outcome: {},
      ended_before: {},
    },
    route: undefined,
    concealing: undefined,
    token: undefined,
    unknown_token: undefined,
    caller: undefined,
    unknown_path: undefined,
    named: undefined,
    unchecked: undefined,
  };
}

/** Notes where a request leads. Of a path that leads nowhere only the mount: it may hold anything. */
export function tracePath(
  trace: RequestContext,
  found: {
    mount: Mount | undefined;
    /** Those of its path; undefined where it is not known. */
    routes: Partial<Record<Method, AnyRoute>> | undefined;
    path: string;
    route: AnyRoute | undefined;
    method: Method | undefined;
  },
): void {
  const { mount, route, routes, method, path } = found;
  trace.route = route;
  trace.concealing = route ?? Object.values(routes ?? {}).find(({ mistaken }) => mistaken);
  if (mount) trace.mount = mount;
  if (!routes) trace.unknown_path = path;
  trace.record = {
    ...trace.record,
    route: route?.id ?? '',
    operation: method ? OPERATION[method] : '',
    path: routes ? path : mount ? `${mount.path}…` : '…',
  };
}

/** Keeps of the input what the route's declaration lets into records. */
export function traceInput(trace: RequestContext, input: Readonly<Record<string, unknown>>): void {
  trace.named = undefined;
  trace.unchecked = undefined;
  // A field without a schema is recorded as it came.
  const tell: Tell = (value, schema) => (schema ? value : recordable([], value));
  trace.record.request = factsOf(trace.route, input, { tell, tellWithin: (value) => value });
}

/** As {@link traceInput}, before fields are checked: should they be refused, the record has those that are as declared. */
export function traceUnchecked(
  trace: RequestContext,
  input: Readonly<Record<string, unknown>>,
): void {
  trace.named = undefined;
  trace.unchecked = input;
}

/** As {@link traceInput}, before fields are read: for the record of a refusal until then. */
export function traceNamed(trace: RequestContext, named: Readonly<Record<string, unknown>>): void {
  trace.named = named;
}

function uncheckedFacts({ route, unchecked = {} }: RequestContext): Record<string, unknown> {
  const tell: Tell = (value, schema) => recordable(schema ? [schema] : [], value);
  return factsOf(route, unchecked, { tell, tellWithin: (value) => recordable([], value) });
}

/** @param schema undefined: no endpoint reads the field */
type Tell = (value: unknown, schema: z.ZodType | undefined) => unknown;

function factsOf(
  { audit = [], audit_within = {}, input: declared }: Partial<RecordedRoute> = {},
  input: Readonly<Record<string, unknown>>,
  { tell, tellWithin }: { tell: Tell; tellWithin(value: unknown): unknown },
): Record<string, unknown> {
  const shape = declared?.shape ?? {};
  const facts: Record<string, unknown> = {};
  for (const name of audit) {
    if (input[name] === undefined) continue;
    facts[name] = tell(input[name], Object.hasOwn(shape, name) ? shape[name] : undefined);
  }
  for (const [name, within] of Object.entries(audit_within)) {
    const value = input[name];
    if (!isPlainObject(value)) continue;
    const sent = within.filter((field) => value[field] !== undefined);
    facts[name] = Object.fromEntries(sent.map((field) => [field, tellWithin(value[field])]));
  }
  return facts;
}

/**
 * @param token that the record names; of the broker's, where a good one stands for nobody, it is not the caller's
 * @throws Failure `unavailable` when it cannot be recorded: nothing is answered then
 */
export function recordDone(
  app: App,
  caller: Caller,
  route: RecordedRoute,
  token = caller.token,
): Promise<void> | undefined {
  if (caller.recorded) return undefined;
  const named = token === caller.token ? caller : { ...caller, token };
  if (token || isRecordedRead(app, route)) return app.audit.note(named, { status: 'done' });
  if (isRead(route)) app.audit.count(route.id);
  // Whatever changed something has its record; what comes here is unauthenticated and was without effect.
  else app.audit.refuse(caller, { status: 'done' });
  return undefined;
}

/** @throws Failure `unavailable` as {@link recordDone}, of requests by somebody known */
export async function recordRefusal(
  app: App,
  trace: RequestContext,
  error: unknown,
): Promise<void> {
  const { caller, route, token } = trace;
  if (caller?.recorded) return;
  const isWrite = trace.record.operation !== 'read' && trace.record.operation !== 'list';
  // Sealed, only what was to change that is worth a record.
  if (app.barrier.sealed && !(route?.while_sealed && isWrite)) return;
  // What is not as declared may be anything, a secret in the wrong field too.
  if (error instanceof ZodError) trace.record.request = {};
  else if (trace.unchecked) trace.record.request = uncheckedFacts(trace);
  else if (trace.named) traceInput(trace, trace.named);
  const { record } = trace;
  if (Object.keys(record.ended_before).length > 0)
    record.outcome.ended_before = record.ended_before;
  concealMistaken(app, trace);
  const end = concealPlaces(app, trace, withoutPath(trace, endOf(error)));
  if (token) await app.audit.note({ ...(caller ?? trace), token }, end);
  else if (route && isPublicRead(route) && !isRecordedRead(app, route)) app.audit.count(route.id);
  else app.audit.refuse(trace, end);
}

/** Tells the caller what a refused request has ended before it was refused. */
export function tellRefused({ caller, record }: RequestContext): string | undefined {
  // Once the change itself is durable, nothing was ended in vain.
  return caller?.recorded ? undefined : tellEnded(record.ended_before);
}

/** Puts the record's concealed path in the place of a path without a route, in the refusal's words too. */
function withoutPath({ unknown_path, record }: RequestContext, end: RecordedEnd): RecordedEnd {
  if (unknown_path === undefined || end.error === undefined) return end;
  const error = end.error.replaceAll(`"${unknown_path}"`, () => `"${record.path}"`);
  return { ...end, error };
}

function concealMistaken(app: App, { concealing, record }: RequestContext): void {
  const { mistaken = [], path = '' } = concealing ?? {};
  if (mistaken.length === 0 || record.recognised) return;
  const hash = (secret: string) => hashSecret(app, secret);
  record.path = concealSegments(record.path, path, mistaken, hash);
  for (const name of mistaken) {
    const sent = record.request[name];
    if (sent !== undefined && sent !== '') record.request[name] = hash(String(sent));
  }
}

/** Texts of refused fields that may let somebody in; the refusal's words are without them, too. */
function concealPlaces(app: App, { route, record }: RequestContext, end: RecordedEnd): RecordedEnd {
  const hashes = new Hashes((text) => hashSecret(app, text));
  const stands = new Map<string, string>();
  const conceal = (value: unknown, isApart: boolean): unknown => {
    if (typeof value === 'string') {
      if (isApart && !mayHaveUser(value)) return value;
      const hash = hashes.find(value) ?? UNTOLD;
      if (value !== '') stands.set(value, hash);
      return hash;
    }
    if (Array.isArray(value)) {
      // A comma in a password makes two of one.
      const areApart = !value.some((each) => typeof each === 'string' && mayHaveUser(each));
      return value.map((each) => conceal(each, areApart));
    }
    if (!isPlainObject(value)) return value;
    const fields = Object.entries(value).map(([name, each]) => [name, conceal(each, true)]);
    return Object.fromEntries(fields);
  };
  for (const name of route?.places ?? []) {
    const sent = record.request[name];
    if (sent !== undefined) record.request[name] = conceal(sent, true);
  }
  const { error } = end;
  const further = Array.from(stands).flatMap(([text, hash]) => (hash === UNTOLD ? text : []));
  if (further.length > 0) record.request.further_places = hashes.ofAll(further);
  return error === undefined ? end : { ...end, error: concealTexts(error, stands) };
}

function isRead({ method, body }: RecordedRoute): boolean {
  return method === 'GET' || method === 'LIST' || body === 'bytes';
}

function isPublicRead(route: RecordedRoute): boolean {
  return route.access === 'public' && isRead(route);
}

function isRecordedRead(app: App, route: RecordedRoute): boolean {
  return app.config.audit.record_public_reads && isPublicRead(route) && !route.while_sealed;
}

function endOf(error: unknown): RecordedEnd {
  if (error instanceof Failure) {
    return { status: 'refused', error: error.detail.recorded ?? error.message };
  }
  if (error instanceof ZodError) {
    const names = error.issues.map((issue) => String(issue.path[0] ?? ''));
    return { status: 'refused', error: `fields not accepted: ${[...new Set(names)].join(', ')}` };
  }
  return { status: 'failed' };
}
