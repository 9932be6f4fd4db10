import {
  type Authenticated,
  authenticate,
  authenticateAgain,
} from '../../access/permissions/authentication.operations.ts';
import { tokenId } from '../../access/tokens/minting.operations.ts';
import { NOTHING_GRANTED } from '../../acl/acl.ts';
import type { OwnJudge } from '../../acl/own-judge.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { isInUse } from '../../broker/iam/authentication.operations.ts';
import { Failure } from '../../core/failure.ts';
import { noteAccount } from '../../core/fairness/asking.ts';
import type { Soon } from '../../core/steps.ts';
import { forgetSealer, rememberSealer } from '../../seal/sealing.operations.ts';
import type { Credentials, Exchange } from '../dialect.ts';
import { type HttpRequest, header } from '../request.ts';
import { forRecords, type RequestContext } from '../request-record.ts';
import { readFields } from './fields.ts';
import type { Permission } from './permission.ts';
import type { FoundEndpoint, FoundRoute } from './routing.ts';
import { wrapTtlOf } from './wrapping.ts';

/** Who asks. */
export interface Asker {
  /** Of their token. */
  text: string | undefined;
  /** Undefined where no token is needed, and while permissions are released. */
  known: Authenticated | undefined;
  wrap_ttl: number | undefined;
}

/** @throws Failure `unauthenticated` where a token is needed and none is good */
export function identify(
  app: App,
  { request, trace }: Exchange,
  { target, route }: FoundRoute,
  credentials: Credentials,
): Soon<Asker> {
  // One method of a path may need no token while another does; a missing method is refused as the
  // path's others would be.
  const open = route ? [route] : Object.values(target?.match?.routes ?? {});
  const isPublicPath = open.some((declared) => declared.access === 'public');
  const text = credentials.text === '' ? undefined : credentials.text;
  const wrap_ttl = wrapTtlOf(route, {
    ttl: header(request, 'x-vault-wrap-ttl'),
    format: header(request, 'x-vault-wrap-format'),
  });
  const isAsked = !isPublicPath || route?.identify || wrap_ttl !== undefined;
  // Where another method of the path needs no token, the refusal does not wait for a token; its record looks it up.
  trace.is_asker_sought = isAsked || route !== undefined;
  if (isAsked && text !== undefined && !app.barrier.sealed) {
    return identifyBearer(app, { request, trace }, { text, wrap_ttl, isPublicPath });
  }
  trace.token = undefined;
  if (!isPublicPath) throw new Failure('unauthenticated', 'permission denied');
  return { text, known: undefined, wrap_ttl };
}

async function identifyBearer(
  app: App,
  { request, trace }: Pick<Exchange, 'request' | 'trace'>,
  asked: { text: string; wrap_ttl: number | undefined; isPublicPath: boolean },
): Promise<Asker> {
  const { text, wrap_ttl, isPublicPath } = asked;
  const authenticating = authenticate(app, text, request.remote_address);
  const bearer = authenticating instanceof Promise ? await authenticating : authenticating;
  trace.token = bearer?.token;
  const inUse = bearer !== undefined && isInUse(app, bearer.token);
  const known = (inUse instanceof Promise ? await inUse : inUse) ? bearer : undefined;
  if (known) noteAccount(known.token.entity_id || known.token.policies.join());
  const remembering = known && rememberSealer(app, known);
  if (remembering) await remembering;
  if (!known && !isPublicPath && !app.barrier.sealed) {
    forgetSealer(app, text);
    if (!bearer) trace.unknown_token = Buffer.from(tokenId(app, text), 'base64url');
  }
  if (!isPublicPath && !known) throw new Failure('unauthenticated', 'permission denied');
  return { text, known, wrap_ttl };
}

/** @throws Failure `unauthenticated` when the token is none any more */
export async function identifyAgain(
  app: App,
  request: HttpRequest,
  { text }: Asker,
): Promise<Authenticated> {
  const again =
    text === undefined ? undefined : await authenticateAgain(app, text, request.remote_address);
  if (!again) throw new Failure('unauthenticated', 'permission denied');
  return again;
}

function letGo(asker: Asker, trace: RequestContext): void {
  asker.known = undefined;
  trace.token = forRecords(trace.token);
}

/** All that refers to a caller's permissions besides the caller itself. */
export interface Holding {
  asker: Asker;
  trace: RequestContext;
  permitted: Permission['permitted'];
  own: OwnJudge | undefined;
}

/** Releases a caller's permissions: they may be large, and are not held while something is waited for. */
export function putAside({ asker, trace, permitted, own }: Holding, caller: Caller): void {
  own?.letGo();
  letGo(asker, trace);
  Object.assign(permitted, { acl: undefined, operation: undefined });
  const token = forRecords(caller.token);
  Object.assign(caller, { token, acl: NOTHING_GRANTED, identity: undefined });
}

/** Runs work with the caller's permissions released, and judges anew afterwards; see `Caller.aside`. */
export function asideOf(app: App, request: HttpRequest, holding: Holding) {
  const { asker, trace } = holding;
  return async <Result>(caller: Caller, work: () => Promise<Result>): Promise<Result> => {
    putAside(holding, caller);
    const result = await work();
    const again = await identifyAgain(app, request, asker);
    trace.token = again.token;
    Object.assign(caller, { token: again.token, acl: again.acl, identity: again.identity });
    return result;
  };
}

/** Reads the fields, with permissions released while the body is waited for. */
export function readAwaited(
  app: App,
  { request, has_come, trace }: Exchange,
  endpoint: FoundEndpoint,
  asker: Asker,
): Soon<Record<string, unknown>> {
  if (!has_come && asker.known) return readLate(app, request, endpoint, asker, trace);
  return readFields(request, endpoint.route, endpoint.method, endpoint.query);
}

async function readLate(
  app: App,
  request: HttpRequest,
  { route, method, query }: FoundEndpoint,
  asker: Asker,
  trace: RequestContext,
): Promise<Record<string, unknown>> {
  // No local may refer to the permissions here: one that lives across the wait would keep them in memory.
  letGo(asker, trace);
  const fields = await readFields(request, route, method, query);
  // Permissions may have changed meanwhile.
  asker.known = await identifyAgain(app, request, asker);
  trace.token = asker.known.token;
  return fields;
}
