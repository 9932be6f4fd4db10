import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import type { GrantSet } from './grants/decision.ts';

/** Built-in users: nobody in particular, everybody who has logged in, and whoever repairs. */
export const ANONYMOUS_USER = 'u_anon';
export const AUTHENTICATED_USER = 'u_auth';
export const RECOVERY_USER = 'u_recovery';

/** Who a request of the broker's API comes from, and what they are allowed. */
export interface Principal {
  /** A user's id, or one of the built-in ones. */
  user_id: string;
  /** Empty unless they logged in through an account. */
  account_id: string;
  auth_method_id: string;
  auth_token_id: string;
  grants: GrantSet;
}

export interface BrokerCaller extends Caller {
  /** Replaced when the request is judged again. */
  who: Principal;
}

/** What somebody hears who may not: to log in, or that logging in does not help. */
export function refuseCaller(caller: BrokerCaller): Failure {
  return caller.who.grants.asker === 'anonymous'
    ? new Failure('unauthenticated', 'Unauthenticated, or invalid token.')
    : new Failure('forbidden', 'Forbidden.');
}
