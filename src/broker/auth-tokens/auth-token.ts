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

/** A token that nobody has used for this long is dead. */
export const STALE_MS = 24 * 3600 * 1000;
/** A token lives this long. */
export const LIFETIME_MS = 7 * 24 * 3600 * 1000;
/** Its time of last use is not written more often than this. */
const NOTE_MS = 10 * 60 * 1000;

export type UseVerdict = { alive: true; note: boolean } | { alive: false };

/** Says whether a token can be used now, and whether that is worth noting. */
export function judgeUse(
  times: Pick<AuthTokenBody, 'expires_ms' | 'last_used_ms'>,
  now: number,
): UseVerdict {
  const idle = now - times.last_used_ms;
  if (now >= times.expires_ms || idle >= STALE_MS) return { alive: false };
  return { alive: true, note: idle >= NOTE_MS };
}
