import { z } from 'zod';
import type { PlannedToken } from '../../access/tokens/token.ts';
import { omitEmpty } from '../../core/omit-empty.ts';
import { formatTime, type Resource } from '../resource/resource.ts';

/** What is kept of a log-in. The token's text is not: only its keyed hash, as its row's key. */
export interface AuthTokenBody {
  account_id: string;
  auth_method_id: string;
  /** Key of the token's own row. */
  token_row: string;
  /** Managed groups that the account was in when it logged in. */
  principals: readonly string[];
  /** Unix milliseconds. */
  expires_ms: number;
  last_used_ms: number;
}

export const authTokenShown = {
  user_id: z.string().describe('Whose log-in it is of.'),
  auth_method_id: z.string(),
  account_id: z.string(),
  approximate_last_used_time: z.string().describe('RFC 3339; noted now and then.'),
  expiration_time: z.string().describe('RFC 3339.'),
};

/** What an auth token shows besides what all resources do; never its text. */
export const describeAuthToken = ({ owner_id, body }: Resource<AuthTokenBody>) =>
  omitEmpty({
    user_id: owner_id,
    auth_method_id: body.auth_method_id,
    account_id: body.account_id,
    approximate_last_used_time: formatTime(body.last_used_ms),
    expiration_time: formatTime(body.expires_ms),
  });

/** A token that nobody has used for this long is dead. */
const STALE_MS = 24 * 3600 * 1000;
/** A token lives this long. */
export const LIFETIME_MS = 7 * 24 * 3600 * 1000;
/** Its time of last use is not written more often than this. */
const NOTE_MS = 10 * 60 * 1000;

export type UseTimes = Pick<AuthTokenBody, 'expires_ms' | 'last_used_ms'>;
type UseVerdict = { alive: true; note: boolean } | { alive: false };

/** Says whether a token can be used now, and whether that is worth noting. */
export function judgeUse(times: UseTimes, now: number): UseVerdict {
  const idle = now - times.last_used_ms;
  if (now >= times.expires_ms || idle >= STALE_MS) return { alive: false };
  return { alive: true, note: idle >= NOTE_MS };
}

const LOG_IN_PATH = 'auth-methods/';

/** Whether a token was made by a log-in at this API: the server alone says where one was made. */
export function isOfLogIn({ path }: { path: string }): boolean {
  return path.startsWith(LOG_IN_PATH);
}

/** The row by which a token's text is found on both APIs. */
export function planTokenRow(login: {
  /** Unix seconds. */
  now: number;
  auth_token_id: string;
  user_id: string;
  account_id: string;
  auth_method_id: string;
  display_name: string;
  entity_id: string;
  policies: readonly string[];
}): PlannedToken {
  const ttl = LIFETIME_MS / 1000;
  const { auth_token_id, user_id, account_id, auth_method_id } = login;
  return {
    type: 'service',
    parent_id: undefined,
    mount_id: '',
    expires_at: login.now + ttl,
    uses_left: 0,
    renewed_at: undefined,
    policies: login.policies.includes('root')
      ? ['root']
      : [...new Set(['default', ...login.policies])].sort(),
    path: `${LOG_IN_PATH}${auth_method_id}:authenticate`,
    meta: { auth_token_id, user_id, account_id, auth_method_id },
    display_name: login.display_name,
    num_uses: 0,
    created_at: login.now,
    creation_ttl: ttl,
    explicit_max_ttl: ttl,
    role_max_ttl: 0,
    period: 0,
    renewable: false,
    role: '',
    entity_id: login.entity_id,
    bound_cidrs: [],
  };
}
