import { attemptLogIn } from '../../../access/auth/lockout/operations.ts';
import { holdAlias, listAliases } from '../../../access/identity/aliases.store.ts';
import { findEntityById, holdEntity } from '../../../access/identity/entities.store.ts';
import type { Alias, Entity } from '../../../access/identity/entity.ts';
import { ensureEntityForAlias } from '../../../access/identity/operations.ts';
import { settle } from '../../../access/standing/attempts.operations.ts';
import type { App } from '../../../app/app.ts';
import { hashSecret } from '../../../audit/operations.ts';
import { Failure } from '../../../core/failure.ts';
import { foldName } from '../../../core/fold.ts';
import { bumpConfigVersion } from '../../../store/config-version.ts';
import type { Effect } from '../../../store/write.ts';
import { isAliasOfUser, type UserBody } from '../../principals/user.ts';
import { setOwner } from '../../principals/users.store.ts';
import type { BrokerCaller } from '../../resource/caller.ts';
import { holdResource, holdVersion } from '../../resource/holds.store.ts';
import { formatTime, type Resource } from '../../resource/resource.ts';
import type { BoundaryAnswer, Located } from '../../resource/route.ts';
import { requireScope } from '../../resource/scope-tree/operations.ts';
import type { ScopeBody } from '../../resource/scope-tree/tree.ts';
import {
  findResource,
  findResourceByKey,
  insertResource,
  saveResource,
} from '../../resource/store.ts';
import { newResourceId, RESOURCE_TYPES } from '../../resource/types.ts';
import { type AccountBody, loginKey } from '../accounts/account.ts';
import { NO_PASSWORD, verifyPassword } from '../accounts/password.ts';
import { describeAuthToken, type MadeAuthToken, makeAuthToken } from '../auth-tokens/operations.ts';
import { readAuthority } from '../grants/operations.ts';
import type { LogInRequest } from './login-request.ts';

/** Logs somebody in by name and password. */
export async function logInByPassword(
  app: App,
  caller: BrokerCaller,
  method: Resource,
  request: LogInRequest,
): Promise<BoundaryAnswer> {
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
): Promise<Resource | undefined> {
  const account = await findResourceByKey(app.db, 'account', loginKey(method.id, login_name));
  // A name that nobody has may be a password in the wrong field.
  caller.record.outcome.login_name = account ? login_name : hashSecret(app, login_name);
  const { password_hash = '' } = (account?.body ?? {}) as Partial<AccountBody>;
  // Beside the hash, which takes longer.
  const [isIn, right] = await Promise.all([
    isLetIn(app, method, account),
    verifyPassword(password, password_hash || NO_PASSWORD),
  ]);
  return right && password_hash !== '' && isIn ? account : undefined;
}

/** The id of nothing: it is looked for as long as one that is there. */
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
  const entity_id = user ? (user.body as UserBody).entity_id : NOBODY;
  const entity = await findEntityById(app.db, entity_id);
  return user ? !entity?.disabled : account !== undefined && scope !== undefined;
}

/** The scope that an auth method is the primary one of; as it is now, not as it is cached: what is held is what was judged. */
async function findPrimaryScope(app: App, method: Resource): Promise<Resource | undefined> {
  const scope = await findResource(app.db, method.scope_id);
  const { primary_auth_method_id } = (scope?.body ?? {}) as Partial<ScopeBody>;
  return scope?.type === 'scope' && primary_auth_method_id === method.id ? scope : undefined;
}

const refused = (): Failure => new Failure('unauthenticated', 'Unable to authenticate.');

/**
 * Hands a token to whoever has proved to be an account's owner, by whatever kind of auth method.
 *
 * @param login.principals managed groups that the account is in
 */
async function logInAccount(
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
): Promise<BoundaryAnswer> {
  let { account } = login;
  let isFirst = true;
  const attempt = async (): Promise<BoundaryAnswer> => {
    // Somebody's first log-in twice at once: the other one has made what both wanted to make. Or
    // what the log-in stands on has changed.
    if (!isFirst) account = await requireUnchanged(app, login);
    isFirst = false;
    return tryLogIn(app, caller, { ...login, account });
  };
  try {
    return await settle(app, caller, attempt, ATTEMPTS);
  } catch (error) {
    if (!(error instanceof Failure) || error.kind !== 'conflict') throw error;
    await requireUnchanged(app, login);
    throw new Failure('unavailable', 'the account is being changed, try again', { cause: error });
  }
}

/** What is changed while somebody logs in has it tried again. */
const ATTEMPTS = 8;

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
): Promise<BoundaryAnswer> {
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
    ...[method.scope_id, method.id, user.id].map(holdResource),
    ...made.effects,
  ]);
  return answerLogIn(app, made, login.type);
}

/** The user that an account stands for, made at its first log-in where the method is primary. */
async function userOf(
  app: App,
  login: { method: Resource; account: Resource },
): Promise<{ user: Resource; effects: Effect[] }> {
  const { method, account } = login;
  const known = account.owner_id === '' ? undefined : await findResource(app.db, account.owner_id);
  if (known) {
    // Refused when the account has gone from the user meanwhile, or either of them altogether, or
    // when the account has another password.
    const held = setOwner(account.id, { from: known.id, to: known.id }, account.version);
    const own = await findEntityById(app.db, (known.body as UserBody).entity_id);
    if (own?.disabled) throw refused();
    const alias = own && (await findAliasOfUser(app, own, known.id));
    if (alias) return { user: known, effects: [held, holdEntity(own), holdAlias(alias)] };
    const { entity, effects } = await ensureEntityForAlias(app, aliasOf(method), known.id);
    const body: UserBody = { ...(known.body as UserBody), entity_id: entity.id };
    const user = { ...known, body, unique_key: `entity:${entity.id}` };
    // The version stays: nothing that the user shows has changed.
    return {
      user,
      effects: [held, ...effects, saveResource(user, known.version), bumpConfigVersion()],
    };
  }
  const scope = await findPrimaryScope(app, method);
  if (!scope) throw refused();
  const id = newResourceId('u', app.randomBytes(32));
  const { entity, effects } = await ensureEntityForAlias(app, aliasOf(method), id);
  const now = app.now();
  const body: UserBody = { entity_id: entity.id, policies: [] };
  const user: Resource = {
    id,
    type: 'user',
    subtype: 'user',
    scope_id: method.scope_id,
    container_id: method.scope_id,
    owner_id: '',
    name: null,
    description: null,
    unique_key: `entity:${entity.id}`,
    version: 1,
    created_ms: now,
    updated_ms: now,
    body,
    secret_sealed: null,
  };
  return {
    user,
    effects: [
      holdVersion({ id: scope.id, version: scope.version }),
      ...effects,
      insertResource(user),
      setOwner(account.id, { from: '', to: user.id }, account.version),
      bumpConfigVersion(),
    ],
  };
}

/**
 * An auth method is to identities what an auth mount's accessor is. The name there is the
 * user's id: a login name or an account can be given to somebody else, who must not become who
 * had it.
 */
const aliasOf = (method: Resource): { accessor: string } => ({ accessor: method.id });

/** By which an entity is the user's: without it the user is somebody else. */
async function findAliasOfUser(
  app: App,
  { id }: Entity,
  user_id: string,
): Promise<Alias | undefined> {
  return (await listAliases(app.db, id)).find((alias) => isAliasOfUser(alias, user_id));
}

async function answerLogIn(
  app: App,
  made: MadeAuthToken,
  type: LogInRequest['type'],
): Promise<BoundaryAnswer> {
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
  const [authority, scope] = await Promise.all([
    readAuthority(app, { user_id: token.owner_id, account_id }),
    requireScope(app, token.scope_id),
  ]);
  const place = {
    scope_id: scope.id,
    parent_scope_id: scope.parent_scope_id,
    type: 'auth-token',
  } as const;
  const actions = authority.listActions(
    { ...place, id: token.id },
    RESOURCE_TYPES['auth-token'].actions,
  );
  return { authorized_actions: actions };
}

/** The auth method that was located. */
export function methodAt(located: Located | undefined): Resource {
  if (!located?.resource) throw new TypeError('logging in is about an auth method');
  return located.resource;
}
