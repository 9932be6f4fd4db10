import { randomUUID } from 'node:crypto';
import {
  type AccessRequest,
  type AccessVerdict,
  type Acl,
  ALLOWED,
  hasSameRules,
  judgeAccess,
  judgeBrought,
  judgeGrants,
} from '../access/acl.ts';
import type { Caller } from '../access/caller.ts';
import type { FormedSegment } from '../access/name-form.ts';
import { OwnJudge } from '../access/own-judge.ts';
import { footingOf, requireAllowed, standOn } from '../access/standing/operations.ts';
import type { Standing } from '../access/standing/standing.ts';
import { SERVER_MOUNT } from '../access/system-caller.ts';
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
import type { Soon } from '../core/steps.ts';
import { countRequest } from '../metrics/operations.ts';
import type { Mount } from '../mounts/mount.ts';
import { readMounts, requireSystemMount } from '../mounts/operations.ts';
import { forgetSealer, rememberSealer } from '../seal/sealing/operations.ts';
import type { BoundaryRouter } from './boundary-path.ts';
import { judgeElsewhere } from './elsewhere.ts';
import { sealWithoutDatabase } from './emergency.ts';
import { refuseForeignPage } from './foreign-pages.ts';
import { looksLikeJson, parseFormBody, parseJsonBody, readQuery } from './json.ts';
import { readerOf } from './parameters.ts';
import { type CanonicalPath, canonicalisePath, listRawTails } from './path.ts';
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
import type { Answer, AnyRoute, Capability, Method } from './route.ts';
import { findMount, type Match, type PathRouter } from './router.ts';
import { type Dressed, dressAnswer, dressFailure, refusal } from './wire/vault.ts';
import { wrapIfAsked, wrapTtlOf } from './wrapping.ts';

/** A request as the listener read it. */
export interface HttpRequest {
  method: string;
  /** As it came: path and query, nothing decoded. */
  url: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Names and values by turns, as they came: of a header that came twice both values. */
  raw_headers: readonly string[];
  remote_address: string;
  /** Reads the whole body; called at most once, after the caller is known. */
  readBody(limit: number): Promise<Uint8Array>;
  /** Counts what is made of the body until the request is answered; throws where there is no room. */
  keep(bytes: number): void;
  /** As {@link Caller.onGone}. */
  onGone?: Caller['onGone'];
}

/** The compiled routes of every engine. */
export interface Routers {
  system: PathRouter;
  secret: ReadonlyMap<string, PathRouter>;
  auth: ReadonlyMap<string, PathRouter>;
  boundary: BoundaryRouter;
}

const PUBLIC_BODY = 64 * 1024;
const PRIVATE_BODY = 1024 * 1024;

/** Where a path leads: the mount, and what is declared there. */
interface Target {
  mount: Mount;
  match: Match | undefined;
  /** Names in the whole path that have more spellings than one. */
  formed: readonly FormedSegment[];
}

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
  try {
    return await answer(app, routers, request, trace);
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
  }
}

async function answer(
  app: App,
  routers: Routers,
  request: HttpRequest,
  trace: Trace,
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
  // A body may take its time, and permissions that were compiled for one token alone are much to hold meanwhile.
  const isMuch = known !== undefined && known.acl.bytes > MUCH_TO_HOLD;
  if (isMuch) known = undefined;
  const fields = await readFields(request, route, method, query);
  if (isMuch && text !== undefined) {
    known = await authenticateAgain(app, text, request.remote_address);
    if (!known) throw new Failure('unauthenticated', 'permission denied');
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

/** Bytes of permissions; what people write is far less. */
const MUCH_TO_HOLD = 1 << 18;

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

function methodOf(method: string, query: URLSearchParams): Method | undefined {
  switch (method) {
    case 'GET':
    case 'HEAD':
      return asksForList(query) ? 'LIST' : 'GET';
    case 'LINK': // how LIST passes the parser, see list-verb.ts
    case 'LIST':
      return 'LIST';
    case 'POST':
    case 'PUT':
      return 'POST';
    case 'PATCH':
      return 'PATCH';
    case 'DELETE':
      return 'DELETE';
    default:
      return undefined;
  }
}

function asksForList(query: URLSearchParams): boolean {
  const asked = query.get('list');
  if (asked === null || asked === '') return false;
  if (/^(1|t|true)$/i.test(asked)) return true;
  if (/^(0|f|false)$/i.test(asked)) return false;
  throw new Failure('invalid', 'query parameter "list" must be true or false');
}

function chooseRoute(match: Match, method: Method | undefined): AnyRoute | undefined {
  return method && match.routes[method];
}

/**
 * A path whose rest is one text with slashes of its own: only where the part before it is
 * canonical and leads to an endpoint that takes such a rest.
 */
async function findRawTail(
  app: App,
  routers: Routers,
  url: string,
): Promise<CanonicalPath | undefined> {
  if (app.barrier.sealed) return undefined;
  for (const { head, tail } of listRawTails(url, ['ocsp'])) {
    const hit = findMount(await readMounts(app), head);
    const routes = hit?.rest === '/ocsp' ? routers.secret.get(hit.mount.type) : undefined;
    if (routes?.find('/ocsp/x')?.routes.GET) {
      return { path: `${head}/${tail}`, slash: false, query: new URLSearchParams() };
    }
  }
  return undefined;
}

async function locate(app: App, routers: Routers, path: string): Promise<Target | undefined> {
  if (path === 'sys' || path.startsWith('sys/')) {
    const match = routers.system.find(path.slice('sys'.length) || '/');
    const formed = shifted(match, 'sys');
    // Before the first start is finished there are no mounts, and sys/ must answer all the same.
    const mount = app.barrier.sealed && match ? SERVER_MOUNT : await requireSystemMount(app);
    return { mount, match, formed };
  }
  if (app.barrier.sealed) return undefined;
  const hit = findMount(await readMounts(app), path);
  if (!hit) return undefined;
  const routes = (hit.mount.kind === 'auth' ? routers.auth : routers.secret).get(hit.mount.type);
  const match = routes?.find(hit.rest);
  return { mount: hit.mount, match, formed: shifted(match, path.slice(0, -hit.rest.length)) };
}

/** The names in a path that have more spellings than one, wherever it leads. */
export async function findNames(
  app: App,
  routers: Routers,
  path: string,
): Promise<readonly FormedSegment[]> {
  return (await locate(app, routers, path.replace(/\/$/, '')))?.formed ?? [];
}

/** A match's names, counted from the beginning of the whole path. */
function shifted(match: Match | undefined, before: string): readonly FormedSegment[] {
  if (!match || match.formed.length === 0) return [];
  const offset = before.split('/').length;
  return match.formed.map(({ at, form }) => ({ at: at + offset, form }));
}

function header(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

async function readFields(
  request: HttpRequest,
  route: AnyRoute,
  method: Method,
  query: URLSearchParams,
): Promise<Record<string, unknown>> {
  const limit = route.max_body ?? (route.access === 'public' ? PUBLIC_BODY : PRIVATE_BODY);
  if (route.body === 'bytes') {
    try {
      return { body: await request.readBody(limit) };
    } catch (error) {
      const isTooLong = error instanceof Failure && error.kind === 'too_large';
      if (!isTooLong || !route.drop_long_body) throw error;
      return { body: new Uint8Array(0) };
    }
  }
  if (method === 'GET' || method === 'LIST' || method === 'DELETE') {
    return readQuery(query);
  }
  const type = (header(request, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (method === 'PATCH' && type !== 'application/merge-patch+json') {
    throw new Failure(
      'unsupported_media_type',
      'PATCH requires Content-Type of application/merge-patch+json',
    );
  }
  const body = await request.readBody(limit);
  if (body.length === 0) return {};
  return type === 'application/x-www-form-urlencoded' && !looksLikeJson(body)
    ? parseFormBody(body)
    : parseJsonBody(body, {}, (bytes) => request.keep(bytes));
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

/** A path as permission is judged by it. */
interface AskedPath {
  path: string;
  formed: readonly FormedSegment[];
}

interface Permission {
  acl: NonNullable<Caller['acl']>;
  asked: AskedPath;
  method: Method;
  fields: Record<string, unknown>;
  params: Readonly<Record<string, string>>;
  /** Of all judging of the request. */
  budget: Comparisons;
  /** What has been permitted, so that it is not judged again unless something has changed. */
  permitted: { acl?: Acl; operation?: Capability };
}

/** Whether a request could be permitted: asked before its body is read. */
function judgeGranted(
  acl: Acl,
  { access }: AnyRoute,
  { budget, ...asked }: AskedPath & Pick<Permission, 'budget'>,
): Soon<AccessVerdict> {
  if (access === 'public') return ALLOWED;
  const { capability, sudo, exists } = access;
  const judge = (operation: Capability): Soon<AccessVerdict> =>
    judgeGrants(acl, { ...asked, operation, sudoRequired: sudo ?? false }, budget);
  if (!exists) return judge(capability);
  // Whether the thing is there is asked once, right before it counts.
  const created = judge('create');
  const orElse = (verdict: AccessVerdict): Soon<AccessVerdict> =>
    verdict.allowed ? verdict : judge(capability);
  return created instanceof Promise ? created.then(orElse) : orElse(created);
}

/** Judges what a permitted request brings in another form than its fields. */
function mayBring(
  acl: Acl | undefined,
  route: AnyRoute,
  asked: AskedPath & Pick<Permission, 'budget'>,
  list: () => Readonly<Record<string, unknown>>,
): Soon<boolean> {
  if (route.access === 'public' || !acl || acl.root) return true;
  const { capability, sudo = false } = route.access;
  const reader = readerOf(route);
  const parameters = list();
  const request = { ...asked, operation: capability, sudoRequired: sudo, parameters, reader };
  const verdict = judgeBrought(acl, request);
  return verdict instanceof Promise ? verdict.then(({ allowed }) => allowed) : verdict.allowed;
}

/** A whole request as policies judge it. */
function accessRequest(
  route: AnyRoute,
  sent: Pick<Permission, 'asked' | 'fields' | 'budget'> & Pick<Caller, 'wrap_ttl'>,
  { operation, sudo = false }: { operation: Capability; sudo?: boolean | undefined },
): AccessRequest {
  const { asked, fields, wrap_ttl, budget } = sent;
  return {
    ...asked,
    operation,
    sudoRequired: sudo,
    parameters: fields,
    reader: readerOf(route),
    wrapTtl: wrap_ttl,
    budget,
  };
}

async function permit(app: App, caller: Caller, route: AnyRoute, asked: Permission): Promise<void> {
  if (route.access === 'public') return;
  const { capability, sudo, exists } = route.access;
  const found = exists && (await exists(app, caller, asked.params));
  const operation = found === false ? ('create' as const) : capability;
  const { acl, permitted } = asked;
  const isJudged = permitted.acl !== undefined && hasSameRules(permitted.acl, acl);
  if (!isJudged || permitted.operation !== operation) {
    const { fields, budget } = asked;
    const sent = { asked: asked.asked, fields, budget, wrap_ttl: caller.wrap_ttl };
    const verdict = judgeAccess(acl, accessRequest(route, sent, { operation, sudo }));
    requireAllowed(verdict instanceof Promise ? await verdict : verdict);
    if (route.sets_also) await requireElsewhere(caller, route, asked);
    Object.assign(permitted, { acl, operation });
  }
  caller.found = found;
}

async function requireElsewhere(
  { mount, wrap_ttl }: Caller,
  route: AnyRoute,
  { acl, params, fields, budget }: Permission,
): Promise<void> {
  const reader = readerOf(route);
  const request = { mount, params, fields, reader, wrapTtl: wrap_ttl, budget };
  requireAllowed(await judgeElsewhere(acl, route, request));
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
