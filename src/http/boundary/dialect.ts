import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { findLiving } from '../../access/tokens/authentication/operations.ts';
import type { Token } from '../../access/tokens/token.ts';
import { type App, perApp } from '../../app.ts';
import { type BrokerCaller, refuseCaller } from '../../broker/caller.ts';
import { USUAL_WORDS } from '../../broker/definition.ts';
import { IN_REQUEST, refuseField, TWICE } from '../../broker/field-errors.ts';
import { type Action, ownAction } from '../../broker/grants/actions.ts';
import type { GrantVerdict } from '../../broker/grants/decision.ts';
import { isIdOf } from '../../broker/resource-types.ts';
import { visibleFields } from '../../broker/resources/answers/operations.ts';
import { type CorsVerdict, judgeOrigin } from '../../core/cors.ts';
import { Failure } from '../../core/failure.ts';
import { recordable } from '../../core/recorded-shape.ts';
import { countRequest } from '../../metrics/operations.ts';
import type {
  BoundaryAccess,
  BoundaryAnswer,
  BoundaryRequest,
  BoundaryRoute,
  Located,
} from '../boundary-route.ts';
import { recordRefused, recordTooMany } from '../refused-early.ts';
import { type HttpRequest, header } from '../request.ts';
import { recordDone, startTrace, type Trace, tellRefused, traceInput } from '../request-record.ts';
import type { Dressed } from '../vault/wire.ts';
import { type BoundaryAsker, findAgain, findAsker, letGo, standingOf } from './asker.ts';
import {
  checkFields,
  MAX_REFERENCE,
  type NamedFields,
  parseBoundaryBody,
  pickReferences,
} from './body.ts';
import { credentialsOf, leadBoundary, listCredentials, requireCorrelationId } from './leading.ts';
import type { BoundaryRouter } from './path.ts';
import { RateLimiter } from './rate-limit.ts';
import { dressBoundaryAnswer, dressBoundaryFailure, refusal } from './wire.ts';

const MAX_BODY = 1024 * 1024;
/** Of nobody in particular, e.g. of a log-in. */
const ANONYMOUS_BODY = 64 * 1024;

/** Answers one request of the broker's API: read, identify, check, locate, permit, run, dress. */
export async function handleBoundary(
  app: App,
  router: BoundaryRouter,
  request: HttpRequest,
): Promise<Dressed> {
  const started = performance.now();
  const trace = startTrace(randomUUID(), request.remote_address);
  const limits: Record<string, string> = {};
  const origin = originOf(app, request);
  const dressed =
    origin.go || origin.status === 403
      ? await answerOrRefuse(app, router, request, { origin, trace, limits })
      : { status: origin.status, headers: {}, body: undefined };
  Object.assign(dressed.headers, limits, origin.headers);
  countRequest(app, trace.record.route, dressed.status, (performance.now() - started) / 1000);
  return dressed;
}

/** What is known of a request, however it ends. */
interface Kept {
  origin: CorsVerdict;
  trace: Trace;
  /** Headers that tell of its quota. */
  limits: Record<string, string>;
}

async function answerOrRefuse(
  app: App,
  router: BoundaryRouter,
  request: HttpRequest,
  kept: Kept,
): Promise<Dressed> {
  const { trace } = kept;
  try {
    return await answer(app, router, request, kept);
  } catch (thrown) {
    const { remote_address } = request;
    const askedBy = { texts: () => listCredentials(request), remote_address };
    const error = await recordRefused(app, trace, thrown, askedBy).then(
      () => thrown,
      (unrecorded: unknown) => unrecorded,
    );
    const dressed = dressBoundaryFailure(error, tellRefused(trace));
    if (dressed) return dressed;
    const id = trace.request_id;
    app.log.error({ err: error, request_id: id }, 'a request failed');
    return refusal(500, {
      kind: 'Internal',
      message: `internal error, see the server's log for request ${id}`,
    });
  }
}

async function answer(
  app: App,
  router: BoundaryRouter,
  request: HttpRequest,
  kept: Kept,
): Promise<Dressed> {
  const { trace } = kept;
  const { route, id } = leadBoundary(router, request, kept.origin, trace);
  if (app.barrier.sealed) throw new Failure('unavailable', 'the server is sealed');
  requireCorrelationId(request);
  const asker = await admit(app, route, request, kept);
  if ('status' in asker) return asker;
  const bare = { id, item: {}, mask: [], query: queryOf(request.url) };
  const result = await permitAndRun(app, asker, route, { http: request, request: bare, trace });
  await recordDone(app, asker.caller, route, trace.token);
  if (app.barrier.sealed) throw new Failure('unavailable', 'the server is sealed');
  return dressBoundaryAnswer(result);
}

/** Whoever asks, or the answer to one who has asked too often. */
async function admit(
  app: App,
  route: BoundaryRoute,
  request: HttpRequest,
  { trace, limits }: Kept,
): Promise<BoundaryAsker | Dressed> {
  const text = credentialsOf(request);
  // Whether a token is good is told by a look at it; what it allows, and a use of it, come later.
  trace.is_asker_sought = true;
  const living = text === '' ? undefined : await findLiving(app, text);
  const refused = takeQuota(app, route, request, { text, living }, limits);
  if (!refused) return findAsker(app, request, { text, living }, trace);
  await recordTooMany(app, trace, { text, living });
  return refused;
}

/** @throws Failure `invalid` for a field that comes twice, of which a proxy may read the other */
function queryOf(url: string): URLSearchParams {
  const mark = url.indexOf('?');
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  const names = new Set<string>();
  for (const name of query.keys()) {
    // The one that is a list.
    if (name === 'update_mask') continue;
    if (names.has(name)) refuseField(name, TWICE, IN_REQUEST);
    names.add(name);
  }
  return query;
}

function originOf(app: App, request: HttpRequest): CorsVerdict {
  return judgeOrigin(app.config.cors, {
    method: request.method,
    origin: header(request, 'origin'),
    host: header(request, 'host'),
    requested: header(request, 'access-control-request-method'),
  });
}

const limiterOf = perApp((app) => new RateLimiter(app.config.rate_limits));

/** Counts a request; one too many is answered with when to come again, and no body. */
function takeQuota(
  app: App,
  { id, access }: BoundaryRoute,
  { remote_address }: HttpRequest,
  asker: { text: string; living: Token | undefined },
  limits: Record<string, string>,
): Dressed | undefined {
  if (app.config.rate_limits.disable) return undefined;
  const lists = access !== 'public' && access.action === 'list';
  const { text, living } = asker;
  const known_as = living && (living.entity_id || living.id);
  const asked = { endpoint: id, lists, remote_address, token: text, known_as };
  const verdict = limiterOf(app).take(asked, app.now());
  Object.assign(limits, verdict.headers);
  if (verdict.allowed) return undefined;
  const headers = { 'retry-after': String(verdict.retry_after) };
  return { status: 429, headers, body: undefined };
}

/** How an endpoint finds what it is about. */
type LocatedAccess = Extract<BoundaryAccess, { locate: unknown }>;

/** A request as far as it can be read without a right to anything: its path and its query. */
interface Bare {
  http: HttpRequest;
  /** Without fields. */
  request: BoundaryRequest;
}

/**
 * Permission comes before whatever is costly to read: the body of somebody who could not be
 * granted the action is not read, and of others no more is looked at before they are permitted
 * than it takes to tell what the request is about.
 */
async function permitAndRun(
  app: App,
  asker: BoundaryAsker,
  route: BoundaryRoute,
  bare: Bare & { trace: Trace },
): Promise<BoundaryAnswer> {
  const { caller } = asker;
  const { access } = route;
  if (access === 'public') return route.run(app, caller, bare.request, undefined, 'all');
  if ('lists' in access) {
    route.check?.(bare.request);
    return route.run(app, caller, bare.request, undefined, 'all');
  }
  const fields = await readFields(app, asker, route, access, bare);
  const named = { ...bare.request, item: pickReferences(fields, access.named_by) };
  traceInput(bare.trace, named.item);
  const resolved = (await route.resolve?.(app, named)) ?? named;
  const check = (): BoundaryRequest => {
    const update_mask = resolved.query.getAll('update_mask');
    const { item, mask } = hasBody(route) ? checkFields(route, fields, update_mask) : resolved;
    traceInput(bare.trace, recordedOf(route, resolved.query, item, mask));
    const request = { ...resolved, item: { ...item, ...resolved.item }, mask };
    route.check?.(request);
    return request;
  };
  const located = await access.locate(app, caller, resolved).catch((error: unknown) => {
    // What is wrong with a request by itself is told before that there is no such thing.
    if (error instanceof Failure) check();
    throw error;
  });
  const permitted = judge(caller, located, access.action);
  if (!permitted.authorized) throw refuseCaller(caller);
  let { output_fields } = permitted;
  caller.standing = standingOf(asker, async (again) => {
    const present = await access.locate(app, again, resolved);
    const verdict = judge(again, present, access.action);
    if (!verdict.authorized) throw refuseCaller(again);
    output_fields = verdict.output_fields;
  });
  const result = await route.run(app, caller, check(), located, permitted.output_fields);
  // Not more is shown than may be seen by the time it is written.
  return result.item ? { ...result, item: visibleFields(result.item, output_fields) } : result;
}

/** What of a request its record is taken from. */
function recordedOf(
  route: BoundaryRoute,
  query: URLSearchParams,
  item: NamedFields,
  mask: readonly string[],
): NamedFields {
  const asked = route.query ? Object.keys(route.query.shape) : [];
  const sent = asked.flatMap((name) => (query.has(name) ? [[name, query.get(name)]] : []));
  // Only what this endpoint has: a name may be anything.
  const update_mask = mask.filter((path) => {
    const [name = '', within] = path.split('.');
    const isKnown = name !== 'version' && Object.hasOwn(route.input.shape, name);
    return isKnown && (within ?? '').length <= MAX_REFERENCE;
  });
  const shown = Object.entries(item).map(([name, value]) => [
    name,
    recordedField(route, name, value),
  ]);
  return { ...Object.fromEntries([...sent, ...shown]), update_mask };
}

/** `attributes` are checked where it is known of what; in the record they are as one of those kinds has them. */
function recordedField({ input, attributes = {} }: BoundaryRoute, name: string, value: unknown) {
  if (name !== 'attributes' || typeof value !== 'object' || value === null) {
    const schema = Object.hasOwn(input.shape, name) ? input.shape[name] : undefined;
    return recordable(schema ? [schema] : [], value);
  }
  const shapes = Object.values(attributes).map(({ shape }) => shape);
  const kindsOf = (field: string): z.ZodType[] =>
    shapes.flatMap((shape) => (Object.hasOwn(shape, field) ? (shape[field] ?? []) : []));
  const fields = Object.entries(value).map(([field, each]) => [
    field,
    recordable(kindsOf(field), each),
  ]);
  return Object.fromEntries(fields);
}

const hasBody = ({ method }: BoundaryRoute): boolean => method === 'POST' || method === 'PATCH';

/** The body's fields, for a caller who could be granted the action. */
async function readFields(
  app: App,
  asker: BoundaryAsker,
  route: BoundaryRoute,
  access: LocatedAccess,
  { http, request, trace }: Bare & { trace: Trace },
): Promise<NamedFields> {
  if (!hasBody(route)) return {};
  const { caller } = asker;
  const wanted = { route, access, request };
  await requirePossible(app, caller, wanted);
  const isStranger = caller.who.authority.asker === 'anonymous';
  const most = isStranger ? ANONYMOUS_BODY : MAX_BODY;
  const limit = Math.min(most, route.max_body ?? most);
  // A body may take its time, and what is granted may be much to hold meanwhile.
  const isAwaited = !http.hasCome() && !isStranger;
  if (isAwaited) letGo(asker, trace);
  const bytes = await http.readBody(limit);
  if (isAwaited) {
    await findAgain(asker, trace);
    await requirePossible(app, caller, wanted);
  }
  return parseBoundaryBody(bytes, route, { isStranger, keep: (kept) => http.keep(kept) });
}

/**
 * That a path names nothing is told to everybody, also to whom nothing could be granted.
 *
 * @throws Failure as the request would be refused if nobody read its body
 */
async function requirePossible(
  app: App,
  caller: BrokerCaller,
  {
    route,
    access,
    request,
  }: { route: BoundaryRoute; access: LocatedAccess; request: BoundaryRequest },
): Promise<void> {
  if (caller.who.authority.mayAllow(access.type, access.action)) return;
  if (request.id !== '' && !access.named_by) {
    const resolved = (await route.resolve?.(app, request)) ?? request;
    if (!isIdOf(resolved.id, access.type)) refuseField('id', USUAL_WORDS.malformedRead, IN_REQUEST);
    await access.locate(app, caller, resolved);
  }
  throw refuseCaller(caller);
}

/** The verdict on an action, or on its `:self` form where the thing is the caller's own. */
function judge(caller: BrokerCaller, located: Located, action: Action): GrantVerdict {
  const { authority, user_id } = caller.who;
  const asked = {
    scope_id: located.scope.id,
    parent_scope_id: located.scope.parent_scope_id,
    type: located.type,
    id: located.id,
    pin: located.pin,
  };
  const verdict = authority.judge({ ...asked, action });
  if (verdict.authorized || located.owner_id !== user_id) return verdict;
  const own = ownAction(action);
  return own ? authority.judge({ ...asked, action: own }) : verdict;
}
