import { giveWay } from '../../../access/concurrency/operations.ts';
import { listOwnTokens } from '../../../access/identity/operations.ts';
import { requirePresented } from '../../../access/permissions/authentication.operations.ts';
import { retryOnConflict } from '../../../access/standing/attempts.operations.ts';
import type { App } from '../../../app/app.ts';
import { Failure, isConflict } from '../../../core/failure.ts';
import { insertActiveUser } from '../../billing/store.ts';
import {
  type ResolvedCredentials,
  resolveCredentials,
} from '../../credentials/of-sessions/operations.ts';
import { hasLogIn } from '../../iam/auth-tokens/operations.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { isOf } from '../../resource/handler.ts';
import type { Resource, Scope } from '../../resource/resource.ts';
import { findResource } from '../../resource/store.ts';
import { keyPlace } from '../../sessions/connections/carried-session.operations.ts';
import { insertSession, type SessionHolder } from '../../sessions/new-session.store.ts';
import { holdRoom, requireRoom } from '../../sessions/user-limit.operations.ts';
import { judgeInjection } from '../injection.ts';
import { targetDefinition } from '../operations.ts';
import { planSessionRecording } from '../recording.operations.ts';
import type { TargetBody } from '../target.ts';
import { type Authorization, describeAuthorization } from './answer.ts';
import { type PlannedSession, planSession } from './planned-session.operations.ts';

/**
 * Authorizes a session: chooses endpoint and workers, obtains the credentials and makes the
 * session, all durable before the answer.
 *
 * @param request.name by which the target was found; empty: by its id
 */
export async function authorizeSession(
  app: App,
  caller: BrokerCaller,
  request: { target: Resource<TargetBody>; scope: Scope; name: string; host_id: string },
): Promise<Authorization> {
  if (!hasLogIn(caller)) throw new Failure('forbidden', 'Forbidden.');
  // With it the session would end at once.
  if (caller.token?.num_uses === 1) {
    throw new Failure('precondition', 'a session cannot be given to the last use of a token');
  }
  let { target } = request;
  let isFirst = true;
  try {
    return await retryOnConflict(app, caller, async () => {
      if (!isFirst) target = await requireUnchangedPlace(app, caller, target);
      // Somebody else's may be called so by now.
      if (request.name !== '' && target.name !== request.name) {
        throw new Failure('not_found', 'Resource not found.');
      }
      isFirst = false;
      await requireRoom(app, caller.who.user_id);
      const session = await planSession(app, caller, { ...request, target });
      return commitSession(app, caller, { ...request, target }, session);
    });
  } catch (error) {
    if (!isConflict(error)) throw error;
    await requireUnchangedPlace(app, caller, target);
    throw new Failure('unavailable', 'the target is being changed, try again', { cause: error });
  }
}

/** After a refused commit: the target as it is now, if it and the caller are still there. */
async function requireUnchangedPlace(
  app: App,
  caller: BrokerCaller,
  before: Resource<TargetBody>,
): Promise<Resource<TargetBody>> {
  const { auth_token_id, user_id } = caller.who;
  const [target, holder] = await Promise.all([
    findResource(app.db, before.id),
    findResource(app.db, auth_token_id || user_id),
  ]);
  if (!holder) throw new Failure('unauthenticated', 'Unauthenticated, or invalid token.');
  if (!isOf(targetDefinition, target)) throw new Failure('not_found', 'Resource not found.');
  return target;
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

async function commitSession(
  app: App,
  caller: BrokerCaller,
  request: { target: Resource<TargetBody>; scope: Scope },
  session: PlannedSession,
): Promise<Authorization> {
  const { id, expires_ms } = session;
  const holder = await findHolder(app, caller);
  // Before anything is issued for it.
  const recording = await planSessionRecording(app, {
    ...request,
    user_id: caller.who.user_id,
    session_id: id,
    host_id: session.endpoint.host_id,
    endpoint: session.url,
  });
  const resolved = await resolveCredentials(app, caller, {
    target: request.target,
    session: { id, expires_at: Math.floor(expires_ms / 1000) },
    injection: judgeInjection(request.target),
  });
  try {
    return await commitResolved(app, caller, request, { session, holder, recording, resolved });
  } finally {
    resolved.release();
  }
}

interface ResolvedSession {
  session: PlannedSession;
  holder: SessionHolder;
  recording: Awaited<ReturnType<typeof planSessionRecording>>;
  resolved: ResolvedCredentials;
}

/** Makes the session durable with what it is given, and says so. */
async function commitResolved(
  app: App,
  caller: BrokerCaller,
  request: { target: Resource<TargetBody>; scope: Scope },
  { session, holder, recording, resolved }: ResolvedSession,
): Promise<Authorization> {
  const { target, scope } = request;
  const { user_id } = caller.who;
  const { session_connection_limit: connection_limit } = target.body;
  const { id, endpoint, created_ms, expires_ms, certificate, private_key } = session;
  Object.assign(caller.record.outcome, {
    session_id: id,
    target_id: target.id,
    endpoint: session.url,
    host_id: endpoint.host_id || undefined,
    host_set_id: endpoint.host_set_id || undefined,
    session_recording_id: recording.id || undefined,
  });
  try {
    await app.commitOnce(caller, [
      ...holdRoom(app, user_id),
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
        ingress_worker_filter: session.ingress_worker_filter,
        injects: resolved.injects,
        certificate,
        private_key_sealed: app.barrier.encrypt('credential', keyPlace(id), private_key),
      }),
      ...resolved.effects,
      ...recording.effects,
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
    session_recording_id: recording.id,
  });
  private_key.fill(0);
  return answer;
}
