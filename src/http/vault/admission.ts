import type { Authenticated } from '../../access/permissions/authentication.operations.ts';
import { footingOf, requireAllowed, standOn } from '../../access/standing/operations.ts';
import { requireRoomToWrap } from '../../access/wrapping/operations.ts';
import { type Comparisons, MOST_COMPARISONS } from '../../acl/comparisons.ts';
import { OwnJudge } from '../../acl/own-judge.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Ending } from '../../app/ended.ts';
import type { Mount } from '../../app/mount.ts';
import type { AnyRoute } from '../../app/route.ts';
import type { Standing } from '../../app/standing.ts';
import { invalid } from '../../core/failure.ts';
import { type Soon, whenThere } from '../../core/steps.ts';
import { readMounts } from '../../mounts/operations.ts';
import type { Exchange, Permitted } from '../dialect.ts';
import { type HttpRequest, header } from '../request.ts';
import {
  OPERATION,
  type RequestContext,
  traceInput,
  traceNamed,
  traceUnchecked,
} from '../request-record.ts';
import {
  type Asker,
  asideOf,
  type Holding,
  identifyAgain,
  putAside,
  readAwaited,
} from './asker.ts';
import { readerOf } from './parameters.ts';
import { accessRequest, judgeGranted, mayBring, permit } from './permission.ts';
import { findMount } from './router.ts';
import { type FoundEndpoint, type FoundRoute, requireEndpoint, unrouted } from './routing.ts';

/** A request that the caller may be permitted, depending on its body. */
export interface Possible {
  endpoint: FoundEndpoint;
  budget: Comparisons;
}

/** Refuses what no body could make permitted. Only callers who might use a path hear that it does not exist. */
export function requirePossible(
  _app: App,
  { trace }: Exchange,
  found: FoundRoute,
  asker: Asker,
): Soon<Possible> {
  return whenThere(requireEndpoint(found, asker.known?.acl), (endpoint) =>
    requireGranted(trace, endpoint, asker),
  );
}

function requireGranted(
  trace: RequestContext,
  endpoint: FoundEndpoint,
  asker: Asker,
): Soon<Possible> {
  const { mount, match, route, asked } = endpoint;
  // A wrapped answer is stored, which only an authenticated caller, or a log-in, may cause.
  if (asker.wrap_ttl !== undefined && !asker.known && mount.kind !== 'auth' && !route.token_field) {
    throw invalid('response wrapping of what is public needs a token');
  }
  traceNamed(trace, match.params);
  const budget: Comparisons = { left: MOST_COMPARISONS };
  const possible = { endpoint, budget };
  if (!asker.known) return possible;
  return whenThere(judgeGranted(asker.known.acl, route, { ...asked, budget }), (verdict) => {
    requireAllowed(verdict);
    return possible;
  });
}

/** Reads the fields; the mount may have been removed, or tuned, while the body was waited for. */
export function readInput(
  app: App,
  exchange: Exchange,
  { endpoint }: Possible,
  asker: Asker,
): Soon<Record<string, unknown>> {
  const reading = readAwaited(app, exchange, endpoint, asker);
  if (exchange.has_come || !footingOf(endpoint.mount)) return reading;
  return whenThere(reading, async (fields) => {
    endpoint.mount = await requireMount(app, endpoint.path, endpoint.mount);
    return fields;
  });
}

/** A permitted request. It holds no permissions: these would be kept in memory as long as the work takes. */
export interface VaultPermitted extends Permitted {
  route: AnyRoute;
  endpoint: FoundEndpoint;
  fields: Record<string, unknown>;
  input: Record<string, unknown>;
  letGo(): void;
}

export function permitWhole(
  app: App,
  { request, trace }: Exchange,
  { endpoint, budget }: Possible,
  asker: Asker,
  fields: Record<string, unknown>,
): Soon<VaultPermitted> {
  const { mount, match, route, method, path, asked } = endpoint;
  const { wrap_ttl } = asker;
  const input: Record<string, unknown> = { ...fields, ...match.params };
  if (route.token_field && !input[route.token_field]) input[route.token_field] = asker.text;
  traceUnchecked(trace, input);
  const permission = { asked, method, fields, params: match.params, budget, permitted: {} };
  const holding = { asker, trace, permitted: permission.permitted, own: undefined };
  const caller = callerOf(app, request, endpoint, { fields, budget, holding });
  trace.caller = caller;
  const letGo = (): void => {
    putAside(holding, caller);
    budget.left = MOST_COMPARISONS;
  };
  const permitted = { caller, route, endpoint, fields, input, letGo };
  const stand = (): Soon<VaultPermitted> => {
    const isKnown = asker.known !== undefined;
    caller.standing = standingOf(app, { mount, path, known: asker.known }, async () => {
      if (!isKnown) return undefined;
      const again = await identifyAgain(app, request, asker);
      await permit(app, caller, route, { ...permission, acl: again.acl });
      const { token, acl, identity } = again;
      Object.assign(caller, { token, acl, identity });
      return again;
    });
    return whenThere(wrap_ttl === undefined ? undefined : requireRoomToWrap(app, caller), () => {
      traceInput(trace, input);
      // By now the caller has what is known of them.
      asker.known = undefined;
      return permitted;
    });
  };
  if (!asker.known) return stand();
  return whenThere(permit(app, caller, route, { ...permission, acl: asker.known.acl }), stand);
}

function callerOf(
  app: App,
  request: HttpRequest,
  { mount, route, method, asked }: FoundEndpoint,
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

/**
 * @returns the mount as it is by now
 * @throws Failure `not_found` when a path does not lead to the mount any more, or from elsewhere than it did
 */
async function requireMount(
  app: App,
  path: string,
  before: Pick<Mount, 'id' | 'path'>,
): Promise<Mount> {
  const mount = findMount(await readMounts(app), path)?.mount;
  if (mount?.id !== before.id || mount.path !== before.path) throw unrouted(path);
  return mount;
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
