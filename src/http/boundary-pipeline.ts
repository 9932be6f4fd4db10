import { randomUUID } from 'node:crypto';
import { ZodError } from 'zod';
import { systemCaller } from '../access/system-caller.ts';
import { tokenId } from '../access/tokens/minting/operations.ts';
import { type App, perApp } from '../app.ts';
import { type BrokerCaller, refuseCaller } from '../broker/caller.ts';
import { IN_REQUEST } from '../broker/field-errors.ts';
import type { Action } from '../broker/grants/actions.ts';
import type { GrantVerdict } from '../broker/grants/decision.ts';
import { type Identified, identify } from '../broker/identity/operations.ts';
import { deriveMask } from '../broker/mask.ts';
import { visibleFields } from '../broker/resources/operations.ts';
import { type CorsVerdict, judgeOrigin } from '../core/cors.ts';
import { Failure } from '../core/failure.ts';
import { fieldErrors } from '../core/fields.ts';
import { countRequest } from '../metrics/operations.ts';
import { type BoundaryRouter, decodeBoundaryPath } from './boundary-path.ts';
import type { BoundaryAnswer, BoundaryRequest, BoundaryRoute, Located } from './boundary-route.ts';
import { parseJsonBody } from './json.ts';
import type { HttpRequest } from './pipeline.ts';
import { RateLimiter } from './rate-limit.ts';
import { recordDone, recordRefusal, startTrace, type Trace, traceInput } from './request-record.ts';
import {
  bareRefusal,
  dressBoundaryAnswer,
  dressBoundaryFailure,
  refusal,
} from './wire/boundary.ts';
import type { Dressed } from './wire/vault.ts';

const MAX_BODY = 1024 * 1024;
const MAX_TARGET = 16_384;

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
  const dressed = origin.go
    ? await answerOrRefuse(app, router, request, { trace, limits })
    : refuseOrigin(origin.status);
  Object.assign(dressed.headers, limits, origin.headers);
  countRequest(app, trace.record.route, dressed.status, (performance.now() - started) / 1000);
  return dressed;
}

/** What is known of a request, however it ends. */
interface Kept {
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
    const error = await recordRefusal(app, trace, thrown).then(
      () => thrown,
      (unrecorded: unknown) => unrecorded,
    );
    const dressed = dressBoundaryFailure(error);
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
  { trace, limits }: Kept,
): Promise<Dressed> {
  const path = request.url.length > MAX_TARGET ? undefined : decodeBoundaryPath(request.url);
  if (path === undefined) return bareRefusal(400);
  const found = router.find(path);
  if ('refused' in found) return bareRefusal(found.refused);
  const route = found.routes[request.method === 'HEAD' ? 'GET' : request.method];
  if (!route) return bareRefusal(405);
  trace.route = route;
  trace.record = {
    ...trace.record,
    route: route.id,
    operation: route.access === 'public' ? 'update' : route.access.action,
    path: withoutSecret(path.slice('/v1/'.length)),
  };
  if (app.barrier.sealed) throw new Failure('unavailable', 'the server is sealed');
  const given = header(request, 'x-correlation-id');
  if (given !== undefined && !UUID.test(given)) {
    throw new Failure('invalid', 'header "X-Correlation-Id" must be a UUID');
  }

  const text = credentialsOf(request);
  const refused = takeQuota(app, route, request, { text, limits });
  if (refused) return refused;
  const known = await identify(app, text, request.remote_address);
  trace.token = known.token;
  if (text !== '' && !known.token) {
    trace.unknown_token = Buffer.from(tokenId(app, text), 'base64url');
  }
  if (known.who.user_id !== '') trace.record.outcome = { user_id: known.who.user_id };
  const read = await readRequest(request, route, found.id);
  traceInput(trace, read.item);
  const caller = callerOf(known, trace);
  trace.caller = caller;
  const result = await permitAndRun(app, caller, route, read);
  await recordDone(app, caller, route);
  return dressBoundaryAnswer(result);
}

/** A path for the record: who gives a whole token for its id has not given it away by that. */
function withoutSecret(path: string): string {
  return path.replace(/\b(at_[A-Za-z0-9]+)_[^/:]+/g, '$1_…');
}

function originOf(app: App, request: HttpRequest): CorsVerdict {
  return judgeOrigin(app.config.cors, {
    method: request.method,
    origin: header(request, 'origin'),
    host: header(request, 'host'),
    requested: header(request, 'access-control-request-method'),
  });
}

function refuseOrigin(status: 204 | 403 | 405): Dressed {
  if (status !== 403) return { status, headers: {}, body: undefined };
  return refusal(403, { kind: 'PermissionDenied', message: 'origin not allowed' });
}

const limiterOf = perApp((app) => new RateLimiter(app.config.rate_limits));

/** Counts a request; one too many is answered with when to come again, and no body (contract 1.11). */
function takeQuota(
  app: App,
  { id, access }: BoundaryRoute,
  { remote_address }: HttpRequest,
  { text, limits }: { text: string; limits: Record<string, string> },
): Dressed | undefined {
  if (app.config.rate_limits.disable) return undefined;
  const lists = access !== 'public' && access.action === 'list';
  const asked = { endpoint: id, lists, remote_address, token: text };
  const verdict = limiterOf(app).take(asked, app.now());
  Object.assign(limits, verdict.headers);
  if (verdict.allowed) return undefined;
  const status = verdict.full ? 503 : 429;
  const headers = { 'retry-after': String(verdict.retry_after) };
  return { status, headers, body: undefined };
}

async function permitAndRun(
  app: App,
  caller: BrokerCaller,
  route: BoundaryRoute,
  read: BoundaryRequest,
): Promise<BoundaryAnswer> {
  const request = (await route.resolve?.(app, read)) ?? read;
  route.check?.(request);
  const { access } = route;
  if (access === 'public' || 'lists' in access) {
    return route.run(app, caller, request, undefined, 'all');
  }
  const located = await access.locate(app, caller, request);
  const { authorized, output_fields } = judge(caller, located, access.action);
  if (!authorized) throw refuseCaller(caller);
  const result = await route.run(app, caller, request, located, output_fields);
  return result.item ? { ...result, item: visibleFields(result.item, output_fields) } : result;
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
  const own = SELF[action];
  return own ? authority.judge({ ...asked, action: own }) : verdict;
}

const SELF: Readonly<Partial<Record<Action, Action>>> = {
  read: 'read:self',
  delete: 'delete:self',
  cancel: 'cancel:self',
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

function header(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The token's text: a bearer's, another API's header, or the two halves of a browser's cookies. */
function credentialsOf(request: HttpRequest): string {
  const bearer = /^\s*bearer\s+(\S+)\s*$/i.exec(header(request, 'authorization') ?? '')?.[1];
  if (bearer) return bearer;
  const own = header(request, 'x-vault-token');
  if (own) return own;
  const cookies = header(request, 'cookie') ?? '';
  const part = (name: string): string =>
    new RegExp(`(?:^|;\\s*)${name}=([^;\\s]*)`).exec(cookies)?.[1] ?? '';
  const js = part('wt-js-token-cookie');
  const http = part('wt-http-token-cookie');
  return js !== '' && http !== '' ? js + http : '';
}

async function readRequest(
  request: HttpRequest,
  route: BoundaryRoute,
  id: string,
): Promise<BoundaryRequest> {
  const mark = request.url.indexOf('?');
  const query = new URLSearchParams(mark < 0 ? '' : request.url.slice(mark + 1));
  if (route.method === 'GET' || route.method === 'DELETE') return { id, item: {}, mask: [], query };
  const body = parseJsonBody(await request.readBody(MAX_BODY));
  const named = renameCamel(body, route.input.shape);
  // An endpoint that takes any field says so by a loose schema.
  if (route.method === 'PATCH' && !route.input.def.catchall) {
    refuseUnknown(named, route.input.shape);
  }
  const mask = deriveMask(named, query.getAll('update_mask'), route.whole_fields);
  return { id, item: checkTypes(route, dropNulls(named)), mask, query };
}

/** Names may also come in the other spelling of the format's standard, `hostCatalogId`. */
function renameCamel(
  body: Readonly<Record<string, unknown>>,
  shape: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const named: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    const snake = Object.hasOwn(shape, name)
      ? name
      : name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const key = Object.hasOwn(shape, snake) && !Object.hasOwn(body, snake) ? snake : name;
    named[key] = value;
  }
  return named;
}

function refuseUnknown(
  body: Readonly<Record<string, unknown>>,
  shape: Readonly<Record<string, unknown>>,
): void {
  const unknown = Object.keys(body).find((name) => !Object.hasOwn(shape, name));
  if (unknown !== undefined) {
    throw new Failure('invalid', `could not find field "${unknown}" in the resource`, {
      fields: { [unknown]: 'There is no such field.' },
    });
  }
}

/** Null is the same as absent, but for the mask, which is derived before. */
function dropNulls(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

function checkTypes(
  route: BoundaryRoute,
  body: Record<string, unknown>,
): Readonly<Record<string, unknown>> {
  try {
    return route.input.parse(body);
  } catch (error) {
    if (!(error instanceof ZodError)) throw error;
    throw new Failure('invalid', IN_REQUEST, { fields: fieldErrors(error) });
  }
}

function callerOf(known: Identified, trace: Trace): BrokerCaller {
  return {
    ...systemCaller(trace.request_id, trace.record.route),
    token: known.token,
    acl: known.acl,
    identity: known.identity,
    who: known.who,
    record: trace.record,
  };
}
