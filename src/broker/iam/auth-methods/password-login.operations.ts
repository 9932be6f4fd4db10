import { attemptLogIn } from '../../../access/auth/lockout/operations.ts';
import { findEntityById } from '../../../access/identity/entities.store.ts';
import type { App } from '../../../app/app.ts';
import { hashSecret } from '../../../audit/operations.ts';
import { foldName } from '../../../core/fold.ts';
import { verifyPassword } from '../../../core/password-hash.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { isOf } from '../../resource/handler.ts';
import type { Resource } from '../../resource/resource.ts';
import { findResource, findResourceByKey } from '../../resource/store.ts';
import { type AccountBody, loginKey, NO_PASSWORD } from '../accounts/account.ts';
import { accountDefinition } from '../accounts/operations.ts';
import { userDefinition } from '../users/operations.ts';
import { logInAccount } from './login.operations.ts';
import type { LogIn } from './login-answer.ts';
import type { LogInRequest } from './login-request.ts';
import { findPrimaryScope, refused } from './login-user.operations.ts';

/** Logs somebody in by name and password. */
export async function logInByPassword(
  app: App,
  caller: BrokerCaller,
  method: Resource,
  request: LogInRequest,
): Promise<LogIn> {
  const { login_name, password } = request;
  // Nobody's name has capitals, and however it is written it is counted as one.
  const name = { method_id: method.id, name: foldName(login_name) };
  const checked = await attemptLogIn(app, caller, name, () =>
    findAccount(app, caller, { method, login_name, password }),
  );
  if (!checked) throw refused();
  return logInAccount(app, caller, {
    method,
    account: checked.found,
    login_name,
    type: request.type,
    effects: checked.effects,
    principals: [],
  });
}

async function findAccount(
  app: App,
  caller: BrokerCaller,
  { method, login_name, password }: { method: Resource; login_name: string; password: string },
): Promise<Resource<AccountBody> | undefined> {
  const found = await findResourceByKey(app.db, 'account', loginKey(method.id, login_name));
  const account = isOf(accountDefinition, found) ? found : undefined;
  // A name that nobody has may be a password in the wrong field.
  caller.record.outcome.login_name = account ? login_name : hashSecret(app, login_name);
  const password_hash = account?.body.password_hash ?? '';
  // Beside the hash, which takes longer.
  const [isIn, right] = await Promise.all([
    isLetIn(app, method, account),
    verifyPassword(password, password_hash || NO_PASSWORD),
  ]);
  return right && password_hash !== '' && isIn ? account : undefined;
}

/** An id that nothing has: looking it up takes as long as one that is there. */
const NOBODY = '';

/**
 * Whether who proves to be an account's owner is let in. It belongs to the proof, and is asked whether or not
 * that succeeds: a refusal of its own would tell that a password is right, and count for no failure.
 * Whoever is there, the same is read: no time tells that they are.
 */
async function isLetIn(
  app: App,
  method: Resource,
  account: Resource | undefined,
): Promise<boolean> {
  const [user, scope] = await Promise.all([
    findResource(app.db, account?.owner_id ?? NOBODY),
    findPrimaryScope(app, method),
  ]);
  const entity_id = isOf(userDefinition, user) ? user.body.entity_id : NOBODY;
  const entity = await findEntityById(app.db, entity_id);
  return user ? !entity?.disabled : account !== undefined && scope !== undefined;
}
