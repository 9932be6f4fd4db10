import {
  authenticateAgain,
  authenticateLiving,
} from '../../access/permissions/authentication.operations.ts';
import { readPermissionVersion } from '../../access/standing/operations.ts';
import type { Token } from '../../access/tokens/token.ts';
import type { Acl } from '../../acl/acl.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller, TokenFacts } from '../../app/caller.ts';
import type { TokenRowKey } from '../../app/standing.ts';
import { LastOf } from '../../core/kept.ts';
import { ROOMS } from '../../core/rooms.ts';
import type { Soon } from '../../core/steps.ts';
import {
  type AuthTokenBody,
  isOfLogIn,
  judgeUse,
  type UseTimes,
} from '../principals/auth-token.ts';
import { touchAuthToken } from '../principals/log-ins.store.ts';
import { ANONYMOUS_USER, type Principal, RECOVERY_USER } from '../resource/caller.ts';
import { GrantSet } from '../resource/grants/decision.ts';
import { isOf } from '../resource/handler.ts';
import type { Resource } from '../resource/resource.ts';
import { findResource, findResourceByKey } from '../resource/store.ts';
import { authTokenDefinition } from './auth-tokens/operations.ts';
import { loadGrantSet } from './grants/operations.ts';
import { acceptRecoveryToken } from './recovery/operations.ts';
import { isRecoveryToken } from './recovery/token.ts';

/** Who a request comes from, on both APIs at once. */
export interface Identified {
  who: Principal;
  token: TokenFacts | undefined;
  /** A token that is good and stands for nobody here: what is refused to them names it all the same. */
  bearer?: TokenFacts;
  acl: Acl | undefined;
  identity: Caller['identity'];
  /** As a token's authentication has them. */
  token_row: TokenRowKey | undefined;
  has_line: boolean;
  permission_version: number | undefined;
}

/**
 * Finds out who a token's text stands for. One that is unknown, run out or revoked stands for
 * nobody: what everybody may do is answered all the same.
 *
 * @param living what `findLiving` said of the text when the request came
 * @param before what was said of the text at first, when the request is judged again; who was nobody then
 *   stays nobody
 */
export async function identify(
  app: App,
  text: string,
  remote_address: string,
  living: Token | undefined,
  before?: { who: Pick<Principal, 'user_id'> },
): Promise<Identified> {
  // Read before what it stands for: see `readPermissionVersion`.
  const version = await readPermissionVersion(app);
  const wasNobody = before?.who.user_id === ANONYMOUS_USER;
  if (text === '' || wasNobody) return nobody(app, version);
  if (isRecoveryToken(text)) {
    // It is good for one request, and was looked at when that began.
    const accepted = before ?? (await acceptRecoveryToken(app, text, remote_address));
    return accepted ? recovery() : nobody(app, version);
  }
  const known = before
    ? await authenticateAgain(app, text, remote_address)
    : await authenticateLiving(app, living, text, remote_address);
  if (!known) return nobody(app, version);
  const { token, acl, identity, token_row, has_line } = known;
  const who = isOfLogIn(token)
    ? await userOfAuthToken(app, token)
    : await userOfVaultToken(app, token);
  if (!who) return { ...(await nobody(app, version)), bearer: token };
  const isRepair = who.grants.asker === 'recovery';
  const permission_version = isRepair ? known.permission_version : version;
  return { who, token, acl, identity, token_row, has_line, permission_version };
}

async function nobody(app: App, permission_version: number): Promise<Identified> {
  const user = { user_id: ANONYMOUS_USER, account_id: '' };
  const grants = await loadGrantSet(app, user);
  return {
    who: { ...user, auth_method_id: '', auth_token_id: '', grants },
    token: undefined,
    acl: undefined,
    identity: undefined,
    token_row: undefined,
    has_line: false,
    permission_version,
  };
}

/** Whoever holds the recovery key: nobody in particular, allowed everything that repairs. */
function recovery(): Identified {
  const bare = { account_id: '', auth_method_id: '', auth_token_id: '' };
  return {
    who: { ...bare, user_id: RECOVERY_USER, grants: new GrantSet('recovery', []) },
    token: undefined,
    acl: undefined,
    identity: undefined,
    token_row: undefined,
    has_line: false,
    permission_version: undefined,
  };
}

/** Whoever logged in for a token. */
async function userOfAuthToken(app: App, token: TokenFacts): Promise<Principal | undefined> {
  const resource = await useLogIn(app, token);
  if (!resource) return undefined;
  const { account_id, auth_method_id, principals } = resource.body;
  const user_id = resource.owner_id;
  const grants = await loadGrantSet(app, { user_id, account_id, principals });
  return { user_id, account_id, auth_method_id, auth_token_id: resource.id, grants };
}

/** When log-ins were last known to be used, by the ids of their tokens: so long they need not be read. */
const usesOf = perApp((app) => {
  const uses = new LastOf<UseTimes>(ROOMS.log_in_uses, () => 0);
  app.barrier.onSeal(() => uses.clear());
  return uses;
});

/**
 * The log-in that a token is of, unless nobody has used it for too long; that it is used is noted. What
 * a token says of itself is not enough: whoever makes one by the other API chooses its `meta`, so the
 * log-in must name the token, too.
 */
async function useLogIn(app: App, token: TokenFacts): Promise<Resource<AuthTokenBody> | undefined> {
  const resource = await findResource(app.db, token.meta?.auth_token_id ?? '');
  if (!isOf(authTokenDefinition, resource)) return undefined;
  const { token_row, expires_ms, last_used_ms: stored_ms } = resource.body;
  if (token_row !== token.id) return undefined;
  const now = app.now();
  const uses = usesOf(app);
  // What another request has noted at this moment may be on its way.
  const known = uses.find(token.id);
  const last_used_ms = Math.max(stored_ms, known?.last_used_ms ?? 0);
  const use = judgeUse({ expires_ms, last_used_ms }, now);
  if (!use.alive) return undefined;
  if (use.note) uses.set(token.id, { expires_ms, last_used_ms: now });
  else if (known?.last_used_ms !== last_used_ms) uses.set(token.id, { expires_ms, last_used_ms });
  // Its time of last use is approximate: written now and then, never waited for.
  if (use.note) app.store.commit([touchAuthToken(resource, now)]).catch(() => {});
  return resource;
}

/**
 * Says of a good token that comes to the certificate authority's API whether the log-in that it is of, if
 * it is of one, was not left unused for too long; and counts that as a use of it.
 */
export function isInUse(app: App, token: TokenFacts): Soon<boolean> {
  if (!isOfLogIn(token)) return true;
  const known = usesOf(app).find(token.id);
  const use = known && judgeUse(known, app.now());
  if (use?.alive && !use.note) return true;
  return useLogIn(app, token).then((logIn) => logIn !== undefined);
}

/**
 * Whether a token of the certificate authority's side stands for the user of its entity, with all
 * that the user is granted. A log-in does, as the person has proved to be the entity there. A
 * token that was made from another has policies and no grants: whoever made it may have meant it
 * to do little. Nothing is kept from the root policy.
 */
function standsForUser(token: TokenFacts): boolean {
  if (token.policies.includes('root')) return true;
  return token.mount_id !== '' && !token.restricted;
}

/**
 * A token of the certificate authority's side: the user that shares its entity. With the root
 * policy and no user it may do all that repairs, as a recovery does.
 */
async function userOfVaultToken(app: App, token: TokenFacts): Promise<Principal | undefined> {
  const bare = { account_id: '', auth_method_id: '', auth_token_id: '' };
  const user =
    token.entity_id === '' || !standsForUser(token)
      ? undefined
      : await findResourceByKey(app.db, 'user', `entity:${token.entity_id}`);
  if (user) {
    const grants = await loadGrantSet(app, { user_id: user.id, account_id: '' });
    return { ...bare, user_id: user.id, grants };
  }
  if (token.policies.includes('root')) {
    return { ...bare, user_id: RECOVERY_USER, grants: new GrantSet('recovery', []) };
  }
  return undefined;
}
