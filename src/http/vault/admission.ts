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
import { readMounts } from '../../mounts/operations.ts';
import type { Exchange, Permitted } from '../dialect.ts';
import { type HttpRequest, header } from '../request.ts';
import { OPERATION, traceInput, traceNamed, traceUnchecked } from '../request-record.ts';
import {
  type Asker,
  asideOf,
  type Holding,
  identifyAgain,
  putAside,
  readAwaited,
} from './asker.ts';
import { type Led, requireThere, type There, unrouted } from './leading.ts';
import { readerOf } from './parameters.ts';
import { accessRequest, judgeGranted, mayBring, permit } from './permission.ts';
import { findMount } from './router.ts';

/** What somebody might be permitted, if what they send is. */
export interface Possible {
  there: There;
  budget: Comparisons;
}

/** What of a request could be permitted with some body. What is not there is told only to those who might have used it. */
export async function requirePossible(
  _app: App,
  { trace }: Exchange,
  led: Led,
  asker: Asker,
): Promise<Possible> {
  const there = await requireThere(led, asker.known?.acl);
  const { mount, match, route, asked } = there;
  // Whoever asks for storage is known, or brings something that makes them known.
  if (asker.wrap_ttl !== undefined && !asker.known && mount.kind !== 'auth' && !route.token_field) {
    throw invalid('response wrapping of what is public needs a token');
  }
  traceNamed(trace, match.params);
  const budget: Comparisons = { left: MOST_COMPARISONS };
  if (asker.known) {
    const granted = judgeGranted(asker.known.acl, route, { ...asked, budget });
    requireAllowed(granted instanceof Promise ? await granted : granted);
  }
  return { there, budget };
}

/** The fields. Their mount may have gone while they were waited for. */
export async function readInput(
  app: App,
  { request, trace }: Exchange,
  { there }: Possible,
  asker: Asker,
): Promise<Record<string, unknown>> {
  const isAwaited = !request.hasCome();
  const fields = await readAwaited(app, request, there, asker, trace);
  if (isAwaited && footingOf(there.mount)) await requireMount(app, there.path, there.mount);
  return fields;
}

/** A request that is permitted. Nothing of what that was judged by is named in it, where work would hold it. */
export interface VaultPermitted extends Permitted {
  route: AnyRoute;
  there: There;
  fields: Record<string, unknown>;
  input: Record<string, unknown>;
  letGo(): void;
}

export async function permitWhole(
  app: App,
  { request, trace }: Exchange,
  { there, budget }: Possible,
  asker: Asker,
  fields: Record<string, unknown>,
): Promise<VaultPermitted> {
  const { mount, match, route, method, path, asked } = there;
  const { wrap_ttl } = asker;
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
  return { caller, route, there, fields, input, letGo };
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
