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

/** What is known of a request so far: whatever becomes of it, this is what can be recorded. */
export interface RequestContext {
  readonly request_id: string;
  /** Whether it was looked at who asks: what is refused before that is so for whoever asks. */
  is_asker_sought: boolean;
  mount: Mount;
  record: RecordFacts;
  route: RecordedRoute | undefined;
  /** By which names of its path are concealed: `route`, or another of that path where that has not this method. */
  concealing: RecordedRoute | undefined;
  token: TokenFacts | undefined;
  /** Keyed hash of a token that came along and is not one of ours. */
  unknown_token: Uint8Array | undefined;
  /** Once the request is read whole. */
  caller: Caller | undefined;
  /** A path that leads nowhere, which may hold anything. */
  unknown_path: string | undefined;
  /** Names of its path, as long as nothing else of it is read: only a refusal's record tells no more. */
  named: Readonly<Record<string, unknown>> | undefined;
  /** What came with it, as long as nobody has looked whether it is as declared. */
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

export function startTrace(request_id: string, remote_address: string): RequestContext {
  return {
    request_id,
    is_asker_sought: false,
    mount: { ...SERVER_MOUNT, path: '' },
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
  // What nobody reads is as it came.
  const tell: Tell = (value, schema) => (schema ? value : recordable([], value));
  trace.record.request = factsOf(trace.route, input, { tell, tellWithin: (value) => value });
}

/** As {@link traceInput}, of what is still to be checked: that is told only as it is declared, if it is refused before. */
export function traceUnchecked(
  trace: RequestContext,
  input: Readonly<Record<string, unknown>>,
): void {
  trace.named = undefined;
  trace.unchecked = input;
}

/** As {@link traceInput}, of a request whose input is still to be read: it is told only if it is refused before. */
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
export async function recordDone(
  app: App,
  caller: Caller,
  route: RecordedRoute,
  token = caller.token,
): Promise<void> {
  if (caller.recorded) return;
  const named = token === caller.token ? caller : { ...caller, token };
  if (token || isRecordedRead(app, route)) await app.audit.note(named, { status: 'done' });
  else if (isRead(route)) app.audit.count(route.id);
  // Whatever changed something has its record; what comes here is a stranger's and was without effect.
  else app.audit.refuse(caller, { status: 'done' });
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

/** What a refused request has ended all the same, for whoever sent it. */
export function tellRefused({ caller, record }: RequestContext): string | undefined {
  // What follows from a change that is durable is no part of its refusal.
  return caller?.recorded ? undefined : tellEnded(record.ended_before);
}

/** Of a path that leads nowhere the refusal says in records what the record's path does. */
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
  if (error instanceof Failure) return { status: 'refused', error: error.message };
  if (error instanceof ZodError) {
    const names = error.issues.map((issue) => String(issue.path[0] ?? ''));
    return { status: 'refused', error: `fields not accepted: ${[...new Set(names)].join(', ')}` };
  }
  return { status: 'failed' };
}
