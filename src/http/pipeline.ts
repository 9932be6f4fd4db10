import { randomUUID } from 'node:crypto';
import { judgeAccess } from '../access/acl.ts';
import type { Caller } from '../access/caller.ts';
import { Holding } from '../access/holding/operations.ts';
import { OwnJudge } from '../access/own-judge.ts';
import { footingOf, requireAllowed, standOn } from '../access/standing/operations.ts';
import type { Standing } from '../access/standing/standing.ts';
import {
  type Authenticated,
  authenticate,
  authenticateAgain,
} from '../access/tokens/authentication/operations.ts';
import { tokenId } from '../access/tokens/minting/operations.ts';
import { type Comparisons, MOST_COMPARISONS } from '../access/value-set.ts';
import { requireRoomToWrap } from '../access/wrapping/operations.ts';
import type { App } from '../app.ts';
import { noteAccount } from '../core/asking.ts';
import { Failure } from '../core/failure.ts';
import { countRequest } from '../metrics/operations.ts';
import type { Mount } from '../mounts/mount.ts';
import { readMounts } from '../mounts/operations.ts';
import { forgetSealer, rememberSealer } from '../seal/sealing/operations.ts';
import { sealWithoutDatabase } from './emergency.ts';
import { refuseForeignPage } from './foreign-pages.ts';
import { readerOf } from './parameters.ts';
import { canonicalisePath } from './path.ts';
import { accessRequest, judgeGranted, mayBring, permit } from './permission.ts';
import { type HttpRequest, header } from './request.ts';
import { readFields } from './request-fields.ts';
import { findToken, refuseNamespace, requireOneToken } from './request-headers.ts';
import {
  OPERATION,
  recordDone,
  recordRefusal,
  startTrace,
  type Trace,
  tellRefused,
  traceInput,
  tracePath,
  traceUnchecked,
} from './request-record.ts';
import type { Answer, AnyRoute } from './route.ts';
import { findMount } from './router.ts';
import { chooseRoute, findRawTail, locate, methodOf, type Routers } from './target.ts';
import { type Dressed, dressAnswer, dressFailure, refusal } from './wire/vault.ts';
import { wrapIfAsked, wrapTtlOf } from './wrapping.ts';

/** Answers one request under `/v1/`: limits, read, authenticate, permit, validate, run, dress. */
export async function handle(app: App, routers: Routers, request: HttpRequest): Promise<Dressed> {
  const started = performance.now();
  const trace = startTrace(randomUUID(), request.remote_address);
  const dressed = await answerOrRefuse(app, routers, request, trace);
  countRequest(app, trace.record.route, dressed.status, (performance.now() - started) / 1000);
  return dressed;
}

async function answerOrRefuse(
  app: App,
  routers: Routers,
  request: HttpRequest,
  trace: Trace,
): Promise<Dressed> {
  const holding = new Holding(app);
  try {
    return await answer(app, routers, request, { trace, holding });
  } catch (thrown) {
    const { method, url } = request;
    const asked = { method, url, text: findToken(request) };
    const sealed = await sealWithoutDatabase(app, asked, trace, thrown);
    if (sealed) return sealed;
    const error = await recordRefusal(app, trace, thrown).then(
      () => thrown,
      (unrecorded: unknown) => unrecorded,
    );
    const dressed = dressFailure(error, tellRefused(trace));
    if (dressed) return dressed;
    const id = trace.request_id;
    app.log.error({ err: error, request_id: id }, 'a request failed');
    return refusal(500, [`internal error, see the server's log for request ${id}`]);
  } finally {
    holding.release();
  }
}

async function answer(
  app: App,
  routers: Routers,
  request: HttpRequest,
  { trace, holding }: { trace: Trace; holding: Holding },
): Promise<Dressed> {
  const { request_id } = trace;
  const { path, slash, query } =
    (await findRawTail(app, routers, request.url)) ?? canonicalisePath(request.url);
  const method = methodOf(request.method, query);
  const target = await locate(app, routers, path);
  const route = target?.match && chooseRoute(target.match, method);
  tracePath(trace, {
    mount: target?.mount,
    isKnown: target?.match !== undefined,
    path,
    route,
    method,
  });
  if (app.barrier.sealed && !route?.while_sealed) {
    throw new Failure('unavailable', 'Vault is sealed');
  }
  refuseNamespace(request);
  refuseForeignPage(route, request);

  // One method of a path may be open and another not; a method that is not there is told of as the
  // path's others are.
  const open = route ? [route] : Object.values(target?.match?.routes ?? {});
  const isPublicPath = open.some((declared) => declared.access === 'public');
  const text = requireOneToken(request);
  const wrap_ttl = wrapTtlOf(route, {
    ttl: header(request, 'x-vault-wrap-ttl'),
    format: header(request, 'x-vault-wrap-format'),
  });
  let known =
    isPublicPath && !route?.identify && wrap_ttl === undefined
      ? undefined
      : text === undefined || app.barrier.sealed
        ? undefined
        : await authenticate(app, text, request.remote_address);
  trace.token = known?.token;
  holding.take(known);
  if (known) noteAccount(known.token.entity_id || known.token.policies.join());
  const remembering = known && rememberSealer(app, known);
  if (remembering) await remembering;
  if (text !== undefined && !known && !isPublicPath && !app.barrier.sealed) {
    forgetSealer(app, text);
    trace.unknown_token = Buffer.from(tokenId(app, text), 'base64url');
  }
  if (!isPublicPath && !known) {
    throw new Failure('unauthenticated', 'permission denied');
  }
  const { mount, match, formed = [] } = target ?? {};
  const asked = { path: method === 'LIST' || slash ? `${path}/` : path, formed };
  if (!mount || !match || !route || !method) {
    // What is not there is told only to those who might have used it.
    const operation = OPERATION[method ?? 'GET'];
    const request = { ...asked, operation, sudoRequired: false };
    if (known) requireAllowed(await judgeAccess(known.acl, request));
    if (!mount) throw unrouted(path);
    throw match
      ? new Failure('unsupported', 'unsupported operation')
      : new Failure('not_found', 'unsupported path');
  }

  // Whoever asks for storage is known, or brings something that makes them known.
  if (wrap_ttl !== undefined && !known && mount.kind !== 'auth' && !route.token_field) {
    throw new Failure('invalid', 'response wrapping of what is public needs a token');
  }

  traceInput(trace, match.params);
  const budget: Comparisons = { left: MOST_COMPARISONS };
  if (known) {
    const granted = judgeGranted(known.acl, route, { ...asked, budget });
    requireAllowed(granted instanceof Promise ? await granted : granted);
  }
  // A body may take its time: what is permitted is let go of meanwhile, and the token is held for records.
  const isAwaited = known !== undefined && holding.isMuch && !request.hasCome();
  if (isAwaited) {
    holding.take({ token: known?.token });
    known = undefined;
  }
  const fields = await readFields(request, route, method, query);
  if (isAwaited && text !== undefined) {
    known = await authenticateAgain(app, text, request.remote_address);
    if (!known) throw new Failure('unauthenticated', 'permission denied');
    holding.take(known);
  }
  const input: Record<string, unknown> = { ...fields, ...match.params };
  if (route.token_field && !input[route.token_field]) input[route.token_field] = text;
  traceUnchecked(trace, input);
  let own: OwnJudge | undefined;
  const caller: Caller = {
    request_id,
    token: known?.token,
    acl: known?.acl,
    identity: known?.identity,
    mount,
    headers: passedHeaders(mount, request),
    wrap_ttl,
    record: trace.record,
    onGone: request.onGone,
    own: () => {
      const reader = readerOf(route);
      own ??= new OwnJudge({ parameters: fields, reader, wrapTtl: wrap_ttl, budget });
      return own;
    },
    mayBring: (list) => mayBring(caller.acl, route, { ...asked, budget }, list),
    asked: route.identify
      ? accessRequest(route, { asked, fields, wrap_ttl, budget }, { operation: OPERATION[method] })
      : undefined,
    recorded: false,
  };
  trace.caller = caller;
  const permission = { asked, method, fields, params: match.params, budget, permitted: {} };
  if (known) await permit(app, caller, route, { ...permission, acl: known.acl });
  caller.standing = standingOf(app, { mount, path, known }, async () => {
    if (!known || text === undefined) return undefined;
    const again = await authenticateAgain(app, text, request.remote_address);
    if (!again) throw new Failure('unauthenticated', 'permission denied');
    holding.take(again);
    await permit(app, caller, route, { ...permission, acl: again.acl });
    const { token, acl, identity } = again;
    Object.assign(caller, { token, acl, identity });
    return again;
  });
  if (wrap_ttl !== undefined) await requireRoomToWrap(app, caller);
  traceInput(trace, input);
  const result = await route.run(app, caller, input);
  const dressed = dress(caller, route, result, { fields, params: match.params });
  const sent = await wrapIfAsked(app, caller, result, dressed);
  await recordDone(app, caller, route);
  requireOpen(app, route);
  return sent;
}

function unrouted(path: string): Failure {
  return new Failure('not_found', `no handler for route "${path}". route entry not found.`);
}

/** What a permitted request rests on: its token, the mount at its path, and what is permitted. */
function standingOf(
  app: App,
  request: { mount: Mount; path: string; known: Authenticated | undefined },
  again: () => Promise<Authenticated | undefined>,
): Standing {
  const { mount, path, known } = request;
  const footing = {
    token_id: known?.token_row,
    has_line: known?.has_line ?? false,
    mount: footingOf(mount),
    version: known?.permission_version,
  };
  return standOn(footing, async () => {
    const renewed = await again();
    const place = footing.mount ? findMount(await readMounts(app), path) : undefined;
    if (footing.mount && place?.mount.id !== footing.mount.id) throw unrouted(path);
    return standingOf(app, { mount, path, known: renewed }, again);
  });
}

/**
 * What was begun before a sealing is not answered after it.
 *
 * @throws Failure `unavailable`: what the request did may be done
 */
function requireOpen(app: App, route: AnyRoute): void {
  if (app.barrier.sealed && !route.while_sealed && route.id !== 'seal') {
    throw new Failure('unavailable', 'Vault is sealed');
  }
}

function passedHeaders(mount: Mount, request: HttpRequest): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of mount.config.passthrough_request_headers) {
    const lower = name.toLowerCase();
    if (lower === 'x-vault-token' || lower === 'authorization') continue;
    const value = header(request, lower);
    if (value !== undefined) passed[lower] = value;
  }
  return passed;
}

function dress(
  caller: Caller,
  route: AnyRoute,
  result: Answer,
  sent: { fields: Record<string, unknown>; params: Readonly<Record<string, string>> },
): Dressed {
  const { mount } = caller;
  const allowed = new Set(mount.config.allowed_response_headers.map((name) => name.toLowerCase()));
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(result.headers ?? {})) {
    if (allowed.has(name.toLowerCase())) headers[name.toLowerCase()] = value;
  }
  if (result.last_modified !== undefined) {
    const since = Date.parse(caller.headers['if-modified-since'] ?? '');
    if (allowed.has('last-modified')) {
      headers['last-modified'] = new Date(result.last_modified).toUTCString();
    }
    if (result.last_modified < since) return { status: 304, headers, body: undefined };
  }
  const dressed = dressAnswer(result, {
    id: caller.request_id,
    mount_type: mount.type,
    warnings: route.body === 'bytes' ? [] : parameterWarnings(route, sent),
  });
  Object.assign(dressed.headers, headers);
  return dressed;
}

function parameterWarnings(
  route: AnyRoute,
  sent: { fields: Record<string, unknown>; params: Readonly<Record<string, string>> },
): string[] {
  const names = Object.keys(sent.fields);
  const takesAll = route.input.def.catchall !== undefined;
  const unknown = takesAll ? [] : names.filter((name) => !(name in route.input.shape)).sort();
  const replaced = names.filter((name) => name in sent.params).sort();
  const warnings: string[] = [];
  if (unknown.length > 0) {
    warnings.push(`Endpoint ignored these unrecognized parameters: [${unknown.join(' ')}]`);
  }
  if (replaced.length > 0) {
    warnings.push(
      `Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [${replaced.join(' ')}]`,
    );
  }
  return warnings;
}
