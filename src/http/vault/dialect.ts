import { randomUUID } from 'node:crypto';
import type { Caller } from '../../access/caller.ts';
import { Ending } from '../../access/ended.ts';
import { OwnJudge } from '../../access/own-judge.ts';
import { footingOf, requireAllowed, standOn } from '../../access/standing/operations.ts';
import type { Standing } from '../../access/standing/standing.ts';
import type { Authenticated } from '../../access/tokens/authentication/operations.ts';
import { type Comparisons, MOST_COMPARISONS } from '../../access/value-set.ts';
import { requireRoomToWrap } from '../../access/wrapping/operations.ts';
import type { App } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import { countRequest } from '../../metrics/operations.ts';
import type { Mount } from '../../mounts/mount.ts';
import { readMounts } from '../../mounts/operations.ts';
import { recordRefused } from '../refused-early.ts';
import { type HttpRequest, header } from '../request.ts';
import { findToken, listTokens } from '../request-headers.ts';
import {
  OPERATION,
  recordDone,
  startTrace,
  type Trace,
  tellRefused,
  traceInput,
  traceNamed,
  traceUnchecked,
} from '../request-record.ts';
import type { Answer, AnyRoute } from '../route.ts';
import { isLong, whilePermitted } from '../while-permitted.ts';
import { asideOf, type Holding, identify, identifyAgain, putAside, readAwaited } from './asker.ts';
import { sealWithoutDatabase } from './emergency.ts';
import { lead, requireThere, type There, unrouted } from './leading.ts';
import { readerOf } from './parameters.ts';
import { accessRequest, judgeGranted, mayBring, permit } from './permission.ts';
import { findMount } from './router.ts';
import type { Routers } from './target.ts';
import { type Dressed, dressAnswer, dressFailure, refusal } from './wire.ts';
import { wrapIfAsked } from './wrapping.ts';

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
    const askedBy = { texts: () => listTokens(request), remote_address: request.remote_address };
    const error = await recordRefused(app, trace, thrown, askedBy).then(
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
  const { caller, there, fields, input, letGo } = await admit(app, routers, request, trace);
  const { route, match } = there;
  const result = await route.run(app, caller, input);
  const dressed = dress(caller, route, result, { fields, params: match.params });
  const sent = await wrapIfAsked(app, caller, result, dressed);
  await recordDone(app, caller, route);
  requireOpen(app, route);
  if (!isLong(sent.body)) return sent;
  // What is read while it is sent waits for its client.
  letGo();
  return whilePermitted(sent, async () => {
    await caller.standing?.renew();
    requireOpen(app, route);
    letGo();
  });
}

/** A request that is permitted. Nothing of what that was judged by is named beside it, where work would hold it. */
interface Admitted {
  caller: Caller;
  there: There;
  fields: Record<string, unknown>;
  input: Record<string, unknown>;
  /** Of what the caller is permitted, until it is judged anew. */
  letGo(): void;
}

async function admit(
  app: App,
  routers: Routers,
  request: HttpRequest,
  trace: Trace,
): Promise<Admitted> {
  const led = await lead(app, routers, request, trace);
  const asker = await identify(app, request, led, trace);
  const there = await requireThere(led, asker.known?.acl);
  const { mount, match, route, method, path, asked } = there;
  const { wrap_ttl } = asker;
  // Whoever asks for storage is known, or brings something that makes them known.
  if (wrap_ttl !== undefined && !asker.known && mount.kind !== 'auth' && !route.token_field) {
    throw new Failure('invalid', 'response wrapping of what is public needs a token');
  }
  traceNamed(trace, match.params);
  const budget: Comparisons = { left: MOST_COMPARISONS };
  if (asker.known) {
    const granted = judgeGranted(asker.known.acl, route, { ...asked, budget });
    requireAllowed(granted instanceof Promise ? await granted : granted);
  }
  const isAwaited = !request.hasCome();
  const fields = await readAwaited(app, request, there, asker, trace);
  if (isAwaited && footingOf(mount)) await requireMount(app, path, mount);
  const input: Record<string, unknown> = { ...fields, ...match.params };
  if (route.token_field && !input[route.token_field]) input[route.token_field] = asker.text;
  traceUnchecked(trace, input);
  const permission = { asked, method, fields, params: match.params, budget, permitted: {} };
  const holding = { asker, trace, permitted: permission.permitted, own: undefined };
  const caller = callerOf(app, request, there, { fields, budget, holding });
  trace.caller = caller;
  if (asker.known) await permit(app, caller, route, { ...permission, acl: asker.known.acl });
  const isKnown = asker.known !== undefined;
  caller.standing = standingOf(app, { mount, path, known: asker.known }, async () => {
    if (!isKnown) return undefined;
    const again = await identifyAgain(app, request, asker);
    await permit(app, caller, route, { ...permission, acl: again.acl });
    const { token, acl, identity } = again;
    Object.assign(caller, { token, acl, identity });
    return again;
  });
  if (wrap_ttl !== undefined) await requireRoomToWrap(app, caller);
  traceInput(trace, input);
  // By now the caller has what is known of them.
  asker.known = undefined;
  const letGo = (): void => {
    putAside(holding, caller);
    budget.left = MOST_COMPARISONS;
  };
  return { caller, there, fields, input, letGo };
}

function callerOf(
  app: App,
  request: HttpRequest,
  { mount, route, method, asked }: There,
  read: { fields: Record<string, unknown>; budget: Comparisons; holding: Holding },
): Caller {
  const { fields, budget, holding } = read;
  const { trace } = holding;
  const { known, wrap_ttl } = holding.asker;
  const setAside = asideOf(app, request, holding);
  const caller: Caller = {
    request_id: trace.request_id,
    token: known?.token,
    acl: known?.acl,
    identity: known?.identity,
    mount,
    headers: passedHeaders(mount, request),
    wrap_ttl,
    record: trace.record,
    onGone: request.onGone,
    aside: known && (async (work) => setAside(caller, work)),
    own: () => {
      const reader = readerOf(route);
      holding.own ??= new OwnJudge({ parameters: fields, reader, wrapTtl: wrap_ttl, budget });
      return holding.own;
    },
    mayBring: (list) => mayBring(caller.acl, route, { ...asked, budget }, list),
    asked: route.identify
      ? accessRequest(route, { asked, fields, wrap_ttl, budget }, { operation: OPERATION[method] })
      : undefined,
    ending: new Ending(),
    recorded: false,
  };
  return caller;
}

/** What a permitted request rests on: its token, the mount at its path, and what is permitted. */
function standingOf(
  app: App,
  request: { mount: Mount; path: string; known: Authenticated | undefined },
  again: () => Promise<Authenticated | undefined>,
): Standing {
  const { mount, path, known } = request;
  const footing = {
    token: known?.token_row,
    has_line: known?.has_line ?? false,
    mount: footingOf(mount),
    version: known?.permission_version,
  };
  return standOn(footing, async () => {
    const renewed = await again();
    if (footing.mount) await requireMount(app, path, footing.mount);
    return standingOf(app, { mount, path, known: renewed }, again);
  });
}

/** @throws Failure `not_found` when a path does not lead to the mount any more */
async function requireMount(app: App, path: string, { id }: Pick<Mount, 'id'>): Promise<void> {
  if (findMount(await readMounts(app), path)?.mount.id !== id) throw unrouted(path);
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

/**
 * How long it may take from a change's date until everybody is answered by it: who asks by a date in
 * that time may have read what was before, and is answered whole.
 */
const COMMITTING_MS = 30_000;

function dress(
  caller: Caller,
  route: AnyRoute,
  result: Answer,
  sent: { fields: Record<string, unknown>; params: Readonly<Record<string, string>> },
): Dressed {
  const { mount } = caller;
  const allows = (wanted: string): boolean =>
    mount.config.allowed_response_headers.some((name) => name.toLowerCase() === wanted);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(result.headers ?? {})) {
    if (allows(name.toLowerCase())) headers[name.toLowerCase()] = value;
  }
  if (result.last_modified !== undefined) {
    const since = Date.parse(caller.headers['if-modified-since'] ?? '');
    if (allows('last-modified')) {
      headers['last-modified'] = new Date(result.last_modified).toUTCString();
    }
    if (result.last_modified + COMMITTING_MS < since)
      return { status: 304, headers, body: undefined };
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
