import { retryOnConflict } from '../../../access/standing/attempts.operations.ts';
import type { App } from '../../../app/app.ts';
import { Failure, isConflict } from '../../../core/failure.ts';
import type { Effect } from '../../../store/write.ts';
import type { UserBody } from '../../principals/user.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { lockResource } from '../../resource/holds.store.ts';
import { formatTime, type Resource } from '../../resource/resource.ts';
import type { BoundaryAnswer, Fields } from '../../resource/route.ts';
import { requireScope } from '../../resource/scope-tree/operations.ts';
import { findResource } from '../../resource/store.ts';
import { RESOURCE_TYPES } from '../../resource/types.ts';
import type { AccountBody } from '../accounts/account.ts';
import { describeAuthToken, type MadeAuthToken, makeAuthToken } from '../auth-tokens/operations.ts';
import { loadGrantSet } from '../grants/operations.ts';
import type { LogInRequest } from './login-request.ts';
import { refused, userOf } from './login-user.operations.ts';

/**
 * Hands a token to whoever has proved to be an account's owner, by whatever kind of auth method.
 *
 * @param login.principals managed groups that the account is in
 */
export async function logInAccount(
  app: App,
  caller: BrokerCaller,
  login: {
    method: Resource;
    account: Resource;
    login_name: string;
    type: LogInRequest['type'];
    effects: readonly Effect[];
    principals: readonly string[];
  },
): Promise<BoundaryAnswer<Fields>> {
  let { account } = login;
  let isFirst = true;
  const attempt = async (): Promise<BoundaryAnswer<Fields>> => {
    // Somebody's first log-in twice at once: the other one has made what both wanted to make. Or
    // what the log-in stands on has changed.
    if (!isFirst) account = await requireUnchanged(app, login);
    isFirst = false;
    return tryLogIn(app, caller, { ...login, account });
  };
  try {
    return await retryOnConflict(app, caller, attempt);
  } catch (error) {
    if (!isConflict(error)) throw error;
    await requireUnchanged(app, login);
    throw new Failure('unavailable', 'the account is being changed, try again', { cause: error });
  }
}

/** After a refused commit: the account as it is now, if what was proved still holds. */
async function requireUnchanged(
  app: App,
  { method, account: before }: { method: Resource; account: Resource },
): Promise<Resource> {
  const [account, present] = await Promise.all([
    findResource(app.db, before.id),
    findResource(app.db, method.id),
  ]);
  if (!present) throw new Failure('not_found', 'Resource not found.');
  if (!account || !isStill(account, before)) throw refused();
  return account;
}

/** Whether an account is let in by the same name and password. */
function isStill(account: Resource, before: Resource): boolean {
  const [now, then] = [account, before].map(({ body }) => body as Partial<AccountBody>);
  return account.unique_key === before.unique_key && now?.password_hash === then?.password_hash;
}

async function tryLogIn(
  app: App,
  caller: BrokerCaller,
  login: Parameters<typeof logInAccount>[2],
): Promise<BoundaryAnswer<Fields>> {
  const { method, account, login_name, principals } = login;
  const { user, effects } = await userOf(app, { method, account });
  const { entity_id, policies = [] } = user.body as UserBody;
  const made = makeAuthToken(app, {
    scope_id: method.scope_id,
    user_id: user.id,
    account,
    login_name,
    entity_id,
    policies,
    principals,
  });
  caller.record.outcome.user_id = user.id;
  caller.record.outcome.auth_token_id = made.resource.id;
  await app.commitOnce(caller, [
    ...login.effects,
    ...effects,
    // What a removal takes away with its log-ins.
    ...[method.scope_id, method.id, user.id].map(lockResource),
    ...made.effects,
  ]);
  return answerLogIn(app, made, login.type);
}

async function answerLogIn(
  app: App,
  made: MadeAuthToken,
  type: LogInRequest['type'],
): Promise<BoundaryAnswer<Fields>> {
  const { resource, text } = made;
  const scope = await requireScope(app, resource.scope_id);
  const { created_ms, updated_ms } = resource;
  const own = type === 'token' ? await ownActions(app, resource) : {};
  const half = Math.floor(text.length / 2);
  return {
    body: {
      ...(type === '' ? {} : { type }),
      command: 'login',
      attributes: {
        id: resource.id,
        ...(type === 'token' ? { scope_id: resource.scope_id } : {}),
        scope: { id: scope.id, type: scope.type },
        ...(type === 'cookie' ? {} : { token: text }),
        created_time: formatTime(created_ms),
        updated_time: formatTime(updated_ms),
        ...describeAuthToken(resource),
        ...own,
      },
    },
    ...(type === 'cookie'
      ? {
          cookies: [
            `wt-http-token-cookie=${text.slice(half)}; Path=/; HttpOnly; Secure; SameSite=Strict`,
            `wt-js-token-cookie=${text.slice(0, half)}; Path=/; Secure; SameSite=Strict`,
          ],
        }
      : {}),
  };
}

/** What the owner of a new token may do with it. */
async function ownActions(app: App, token: Resource): Promise<Record<string, unknown>> {
  const { account_id = '' } = token.body as { account_id?: string };
  const [scope, grants] = await Promise.all([
    requireScope(app, token.scope_id),
    loadGrantSet(app, { user_id: token.owner_id, account_id }),
  ]);
  const place = {
    scope_id: scope.id,
    parent_scope_id: scope.parent_scope_id,
    type: 'auth-token',
  } as const;
  const actions = grants.listActions(
    { ...place, id: token.id },
    RESOURCE_TYPES['auth-token'].actions,
  );
  return { authorized_actions: actions };
}
