/** The token that the server of a transit engine is asked with, as that server tells it. */
export interface SealToken {
  /** Seconds until it ends; undefined: it does not. */
  ttl: number | undefined;
  /** Seconds that it lives when it was made, or is renewed. */
  usual: number;
  renewable: boolean;
}

/**
 * How it stands with the token. `ends`: it cannot be renewed, or no further; `unattended`: it does its work, but its
 * policies have it neither look itself up nor be renewed; `refused`: it does not do its work;
 * `unreachable`: the server cannot be asked.
 */
export type TokenStanding = 'fine' | 'ends' | 'unattended' | 'refused' | 'unreachable';

/** One that is renewed and gets less than this share of what is usual is near the end that was set for it. */
const SHORTENED = 0.5;

/** Whether it is to be renewed. */
export const isRenewed = ({ ttl, renewable }: SealToken): boolean => ttl !== undefined && renewable;

/** @param ttl seconds after it was renewed, if it was */
export function judgeToken({ usual, ...token }: SealToken, ttl?: number): TokenStanding {
  if (token.ttl === undefined) return 'fine';
  return ttl !== undefined && ttl > 0 && ttl >= usual * SHORTENED ? 'fine' : 'ends';
}

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** What has been taken away on the other server is noticed as soon as that. */
const MOST_WAIT: Readonly<Record<TokenStanding, number>> = {
  fine: HOUR,
  ends: 24 * HOUR,
  unattended: HOUR,
  refused: HOUR / 6,
  unreachable: HOUR / 60,
};

/**
 * Milliseconds until it is looked at again: by half of its life, so that there is time for a second attempt.
 *
 * @param ttl seconds that are left, as far as is known
 */
export function waitForToken(standing: TokenStanding, ttl: number | undefined): number {
  const share = standing === 'unreachable' ? 8 : 2;
  const due = ttl === undefined || ttl <= 0 ? HOUR : (ttl * SECOND) / share;
  return Math.max(SECOND, Math.min(due, MOST_WAIT[standing]));
}

/** What everybody may hear of it; undefined: nothing. */
export function tellStanding(standing: TokenStanding): string | undefined {
  return standing === 'fine' ? undefined : WARNINGS[standing];
}

const WARNINGS = {
  ends: 'the token of the seal ends and cannot be renewed: the server will not unseal by itself after that; its log says when',
  unattended:
    'the token of the seal may neither be looked up nor renewed (auth/token/lookup-self, auth/token/renew-self): once it ends, of which nothing is known, the server will not unseal by itself',
  refused:
    'the transit engine does not take the token of the seal: the server will not unseal by itself at its next start',
  unreachable:
    'the transit engine of the seal cannot be reached: without it the server does not unseal by itself at its next start',
} as const;
