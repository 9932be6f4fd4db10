import { giveWay } from '../../../access/concurrency/operations.ts';
import { listOwnTokens } from '../../../access/identity/operations.ts';
import { requirePresented } from '../../../access/permissions/authentication.operations.ts';
import { settle } from '../../../access/standing/attempts.operations.ts';
import type { App } from '../../../app/app.ts';
import { Failure } from '../../../core/failure.ts';
import { omitEmpty } from '../../../core/omit-empty.ts';
import { findDestination } from '../../aliases/operations.ts';
import { insertActiveUser } from '../../billing/store.ts';
import {
  type ResolvedCredentials,
  resolveCredentials,
} from '../../credentials/of-sessions/operations.ts';
import { hasLogIn } from '../../iam/auth-tokens/operations.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { refuseField } from '../../resource/field-errors.ts';
import { describeScope, formatTime, type Resource, type Scope } from '../../resource/resource.ts';
import type { BoundaryRequest, Located } from '../../resource/route.ts';
import { readScopeTree } from '../../resource/scope-tree/operations.ts';
import { findResource, findResourceByName } from '../../resource/store.ts';
import { newResourceId } from '../../resource/types.ts';
import { encodeAuthorizationToken } from '../../sessions/authorization-token.ts';
import { keyPlace } from '../../sessions/connections/operations.ts';
import type { SessionCredential } from '../../sessions/credentials/credential.ts';
import { type Endpoint, formatEndpoint } from '../../sessions/endpoint.ts';
import { makeSessionCertificate } from '../../sessions/session-certificate.ts';
import { insertSession, type SessionHolder } from '../../sessions/store.ts';
import { requireWorkers } from '../../workers/embedded-view.operations.ts';
import { findEndpoint } from '../endpoints/operations.ts';
import type { TargetBody } from '../target.ts';
import { wantedOf } from './request.ts';

/**
 * Puts the target's id in the place of an alias, and the alias's host with it. With a scope
 * in the body the path is a target's name.
 *
 * @throws Failure `not_found` for an alias that is unknown or leads nowhere, `invalid` when the
 *   request names another host than the alias
 */
export async function resolveDestination(
  app: App,
  request: BoundaryRequest,
): Promise<BoundaryRequest> {
  const { id, item } = request;
  const { scope_id, scope_name, host_id } = wantedOf(item);
  if (id === '' || id.includes('_') || scope_id !== '' || scope_name !== '') return request;
  const destination = await findDestination(app, id);
  if (!destination) throw new Failure('not_found', 'Resource not found.');
  if (destination.host_id === '') return { ...request, id: destination.target_id };
  if (host_id !== '' && host_id !== destination.host_id) {
    refuseField(
      'host_id',
      'The host id specified in the request does not match the one provided by the alias. Consider omitting the host id in the request.',
    );
  }
  const { target_id } = destination;
  return { ...request, id: target_id, item: { ...item, host_id: destination.host_id } };
}

/** Finds the target of a request, by id or by name. @throws Failure `not_found`, `precondition` */
export async function locateTarget(
  app: App,
  _caller: BrokerCaller,
  { id, item }: BoundaryRequest,
): Promise<Located> {
  const tree = await readScopeTree(app);
  const { name, scope_id, scope_name } = wantedOf(item);
  const place = scope_id === '' && name !== '' ? scopeNamed(tree.byId, scope_name) : scope_id;
  const target =
    name === ''
      ? await findResource(app.db, id)
      : await findResourceByName(app.db, 'target', place, name);
  const scope = tree.byId.get(target?.scope_id ?? '');
  if (target?.type !== 'target' || !scope) throw new Failure('not_found', 'Resource not found.');
  return { type: 'target', scope, id: target.id, resource: target };
}

function scopeNamed(scopes: ReadonlyMap<string, Scope>, name: string): string {
  const [found, another] = [...scopes.values()].filter((scope) => scope.name === name);
  if (another) {
    throw new Failure(
      'precondition',
      `scope name "${name}" is ambiguous: it matches several scopes, name one by scope_id`,
    );
  }
  return found?.id ?? '';
}

/** A target that changed between reading and writing is read again this often. */
const ATTEMPTS = 8;
/** 9999-12-31T23:59:59Z, the last instant that a certificate can name (RFC 5280 §4.1.2.5). */
const LAST_MS = 253_402_300_799_000;

/**
 * Authorizes a session: chooses endpoint and workers, obtains the credentials and makes the
 * session, all durable before the answer.
 *
 * @param request.name by which the target was found; empty: by its id
 */
export async function authorizeSession(
  app: App,
  caller: BrokerCaller,
  request: { target: Resource; scope: Scope; name: string; host_id: string },
): Promise<Record<string, unknown>> {
  if (!hasLogIn(caller)) throw new Failure('forbidden', 'Forbidden.');
  // With it the session would end at once.
  if (caller.token?.num_uses === 1) {
    throw new Failure('precondition', 'a session cannot be given to the last use of a token');
  }
  let { target } = request;
  let isFirst = true;
  try {
    return await settle(
      app,
      caller,
      async () => {
        if (!isFirst) target = await requireUnchangedPlace(app, caller, target);
        // Somebody else's may be called so by now.
        if (request.name !== '' && target.name !== request.name) {
          throw new Failure('not_found', 'Resource not found.');
        }
        isFirst = false;
        const session = await planSession(app, caller, { ...request, target });
        return commitSession(app, caller, { ...request, target }, session);
      },
      ATTEMPTS,
    );
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'conflict') throw error;
    await requireUnchangedPlace(app, caller, target);
    throw new Failure('unavailable', 'the target is being changed, try again', { cause: error });
  }
}

/** After a refused commit: the target as it is now, if it and the caller are still there. */
async function requireUnchangedPlace(
  app: App,
  caller: BrokerCaller,
  before: Resource,
): Promise<Resource> {
  const { auth_token_id, user_id } = caller.who;
  const [target, holder] = await Promise.all([
    findResource(app.db, before.id),
    findResource(app.db, auth_token_id || user_id),
  ]);
  if (!holder) throw new Failure('unauthenticated', 'Unauthenticated, or invalid token.');
  if (!target) throw new Failure('not_found', 'Resource not found.');
  return target;
}

interface PlannedSession {
  id: string;
  endpoint: Endpoint;
  url: string;
  port: number;
  worker_filter: string;
  worker_addresses: readonly string[];
  created_ms: number;
  expires_ms: number;
  certificate: Uint8Array;
  /** 64 bytes. */
  private_key: Uint8Array;
}

async function planSession(
  app: App,
  caller: BrokerCaller,
  { target, host_id }: { target: Resource; host_id: string },
): Promise<PlannedSession> {
  const body = target.body as TargetBody;
  const port = body.default_port;
  if (port === 0) {
    throw new Failure('precondition', 'Target does not have default port defined.');
  }
  const endpoint = await findEndpoint(app, caller, { target, host_id });
  const formatted = formatEndpoint(target.subtype, endpoint.address, port);
  if (!formatted.valid) throw new Failure('unresolved', formatted.because);
  const worker_filter = body.egress_worker_filter || body.worker_filter;
  const workers = await requireWorkers(app, worker_filter);
  const worker_addresses = workers.map((worker) => worker.address);
  // Drawn at once, since each draw has its price.
  const random = app.randomBytes(72);
  const seed = random.subarray(0, 32);
  const id = newResourceId('s', random.subarray(40));
  const created_ms = app.now();
  const expires_ms = Math.min(
    created_ms + body.session_max_seconds * 1000,
    endOfBatchToken(caller),
    LAST_MS,
  );
  const made = makeSessionCertificate({
    session_id: id,
    worker_addresses,
    seed,
    serial: random.subarray(32, 40),
    now: Math.floor(created_ms / 1000),
    expires_at: Math.floor(expires_ms / 1000),
  });
  seed.fill(0);
  const url = formatted.url;
  return {
    id,
    endpoint,
    url,
    port,
    worker_filter,
    worker_addresses,
    created_ms,
    expires_ms,
    ...made,
  };
}

/** What a session ends with. A batch token leaves no row: what that ends with does. */
async function findHolder(app: App, caller: BrokerCaller): Promise<SessionHolder> {
  const { auth_token_id } = caller.who;
  if (auth_token_id !== '' || !caller.token) return { ...NO_HOLDER, auth_token_id };
  const { type, id, mount_id: auth_mount_id } = caller.token;
  if (type !== 'batch') return { ...NO_HOLDER, token_id: id, auth_mount_id };
  const { parent_id, alias } = requirePresented(caller).token;
  if (parent_id === undefined) return { ...NO_HOLDER, alias_id: alias?.id ?? '', auth_mount_id };
  const above = (await listOwnTokens(app, caller)).find((token) => token.id === parent_id);
  return { ...NO_HOLDER, token_id: parent_id, auth_mount_id: above?.mount_id ?? '' };
}

const NO_HOLDER: SessionHolder = {
  auth_token_id: '',
  token_id: '',
  alias_id: '',
  auth_mount_id: '',
};

/** It is never renewed, and nothing but its own text tells of it. */
function endOfBatchToken({ token }: BrokerCaller): number {
  const isBatch = token?.type === 'batch';
  return isBatch ? (token.expires_at ?? Number.POSITIVE_INFINITY) * 1000 : LAST_MS;
}

async function commitSession(
  app: App,
  caller: BrokerCaller,
  request: { target: Resource; scope: Scope },
  session: PlannedSession,
): Promise<Record<string, unknown>> {
  const { id, expires_ms } = session;
  const holder = await findHolder(app, caller);
  const resolved = await resolveCredentials(app, caller, {
    target: request.target,
    session: { id, expires_at: Math.floor(expires_ms / 1000) },
  });
  try {
    return await commitResolved(app, caller, request, { session, holder, resolved });
  } finally {
    resolved.release();
  }
}

interface ResolvedSession {
  session: PlannedSession;
  holder: SessionHolder;
  resolved: ResolvedCredentials;
}

/** Makes the session durable with what it is given, and says so. */
async function commitResolved(
  app: App,
  caller: BrokerCaller,
  request: { target: Resource; scope: Scope },
  { session, holder, resolved }: ResolvedSession,
): Promise<Record<string, unknown>> {
  const { target, scope } = request;
  const { user_id } = caller.who;
  const { session_connection_limit: connection_limit } = target.body as TargetBody;
  const { id, endpoint, created_ms, expires_ms, certificate, private_key } = session;
  Object.assign(caller.record.outcome, {
    session_id: id,
    target_id: target.id,
    endpoint: session.url,
    host_id: endpoint.host_id || undefined,
    host_set_id: endpoint.host_set_id || undefined,
  });
  try {
    await app.commitOnce(caller, [
      ...insertSession({
        id,
        scope_id: scope.id,
        user_id,
        type: target.subtype,
        target,
        holder,
        host_set_id: endpoint.host_set_id,
        host_id: endpoint.host_id,
        endpoint: session.url,
        connection_limit,
        created_ms,
        expires_ms,
        worker_filter: session.worker_filter,
        certificate,
        private_key_sealed: app.barrier.seal('credential', keyPlace(id), private_key),
      }),
      ...resolved.effects,
      insertActiveUser(user_id, created_ms),
    ]);
  } catch (error) {
    await resolved.abandon();
    throw error;
  }
  // Of sessions that become durable together, those with long answers would be one stretch.
  if (resolved.credentials.length > 0) await giveWay(app);
  const answer = describeAuthorization(request, session, {
    user_id,
    credentials: resolved.credentials,
  });
  private_key.fill(0);
  return answer;
}

/** The answer; grants take no field out of it. @see B-74 */
function describeAuthorization(
  { target, scope }: { target: Resource; scope: Scope },
  session: PlannedSession,
  given: { user_id: string; credentials: readonly SessionCredential[] },
): Record<string, unknown> {
  const { id, endpoint, url, port, created_ms, expires_ms } = session;
  const { session_connection_limit: connection_limit, default_client_port } =
    target.body as TargetBody;
  const { host_id, host_set_id } = endpoint;
  return omitEmpty({
    session_id: id,
    target_id: target.id,
    scope: describeScope(scope),
    created_time: formatTime(created_ms),
    user_id: given.user_id,
    host_set_id,
    host_id,
    type: target.subtype,
    authorization_token: encodeAuthorizationToken({
      session_id: id,
      target_id: target.id,
      scope: {
        id: scope.id,
        type: scope.type,
        name: scope.name ?? '',
        description: scope.description ?? '',
        parent_scope_id: scope.parent_scope_id,
      },
      created_ms,
      type: target.subtype,
      connection_limit,
      endpoint_port: port,
      expires_ms,
      certificate: session.certificate,
      private_key: session.private_key,
      host_id,
      endpoint: url,
      worker_addresses: session.worker_addresses,
      default_client_port,
    }),
    connection_limit,
    endpoint: url,
    endpoint_port: port,
    expiration: formatTime(expires_ms),
    credentials: given.credentials,
  });
}
