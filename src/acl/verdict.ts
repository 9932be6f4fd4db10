import type { Steps } from '../core/steps.ts';

/** `because` is for the server's own eyes: a caller without permission learns no more than that. */
export type AccessVerdict = { allowed: true } | { allowed: false; because: string };

export const ALLOWED: AccessVerdict = { allowed: true };

export function refuse(because: string): AccessVerdict {
  return { allowed: false, because };
}

/** To judge by more would keep others waiting: nothing is said of what was asked. */
export const TOO_MUCH: AccessVerdict = refuse('judging the request takes too long');

export const DENIED = refuse('a policy denies this path');

/** What a rule says of a request: at once, or in steps where that goes by its fields. */
export type Judged = AccessVerdict | Steps<AccessVerdict>;

export const isVerdict = (judged: Judged): judged is AccessVerdict => 'allowed' in judged;

export function* settle(judged: Judged): Steps<AccessVerdict> {
  return isVerdict(judged) ? judged : yield* judged;
}
