import { retryOnConflict } from '../../../access/standing/attempts.operations.ts';
import type { App } from '../../../app/app.ts';
import { Failure, isConflict } from '../../../core/failure.ts';
import type { Effect } from '../../../store/write.ts';
import type { AuthTokenBody } from '../../principals/auth-token.ts';
import type { Action } from '../../resource/actions.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { isOf } from '../../resource/handler.ts';
import { lockResource } from '../../resource/holds.store.ts';
import type { Resource, Scope } from '../../resource/resource.ts';
import { requireScope } from '../../resource/scope-tree/operations.ts';
import { findResource } from '../../resource/store.ts';
import { RESOURCE_TYPES } from '../../resource/types.ts';
import type { AccountBody } from '../accounts/account.ts';
import { accountDefinition } from '../accounts/operations.ts';
import { makeAuthToken } from '../auth-tokens/operations.ts';
import { loadGrantSet } from '../grants/operations.ts';
import type { LogIn } from './login-answer.ts';
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
    account: Resource<AccountBody>;
    login_name: string;
    type: LogInRequest['type'];
    effects: readonly Effect[];
    principals: readonly string[];
  },
): Promise<LogIn> {
  let { account } = login;
  let isFirst = true;
  const attempt = async (): Promise<LogIn> => {
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
  { method, account: before }: { method: Resource; account: Resource<AccountBody> },
): Promise<Resource<AccountBody>> {
  const [account, present] = await Promise.all([
    findResource(app.db, before.id),
    findResource(app.db, method.id),
  ]);
  if (!present) throw new Failure('not_found', 'Resource not found.');
  if (!isOf(accountDefinition, account) || !isStill(account, before)) throw refused();
  return account;
}

/** Whether an account is let in by the same name and password. */
function isStill(account: Resource<AccountBody>, before: Resource<AccountBody>): boolean {
  const { unique_key, body } = before;
  return account.unique_key === unique_key && account.body.password_hash === body.password_hash;
}

async function tryLogIn(
  app: App,
  caller: BrokerCaller,
  login: Parameters<typeof logInAccount>[2],
): Promise<LogIn> {
  const { method, account, login_name, principals } = login;
  const { user, effects } = await userOf(app, { method, account });
  const { entity_id, policies = [] } = user.body;
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
  const { resource: token, text } = made;
  const scope = await requireScope(app, token.scope_id);
  const authorized_actions =
    login.type === 'token' ? await ownActions(app, token, scope) : undefined;
  return { token, text, scope, authorized_actions };
}

/** What the owner of a new token may do with it. */
async function ownActions(
  app: App,
  { id, owner_id, body }: Resource<AuthTokenBody>,
  { id: scope_id, parent_scope_id }: Scope,
): Promise<readonly Action[]> {
  const owner = { user_id: owner_id, account_id: body.account_id };
  const grants = await loadGrantSet(app, owner);
  const place = { scope_id, parent_scope_id, type: 'auth-token' } as const;
  return grants.listActions({ ...place, id }, RESOURCE_TYPES['auth-token'].actions);
}
