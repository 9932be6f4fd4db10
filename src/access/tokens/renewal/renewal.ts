import { canonicalPolicies } from '../policy-names.ts';
import type { TokenSettings } from '../settings.ts';
import type { Token } from '../token.ts';

/** What whoever a token was made by says of it by now. Seconds; 0: no such bound. */
export interface RenewalRules {
  explicit_max_ttl: number;
  role_max_ttl: number;
  period: number;
}

/** What a token was made with, for those that nobody can be asked about. */
export function rulesOfToken(token: Token): RenewalRules {
  const { explicit_max_ttl, role_max_ttl, period } = token;
  return { explicit_max_ttl, role_max_ttl, period };
}

/** What an account or role says, where a bound that was asked for stays. */
export function rulesOfMaker(
  token: Pick<Token, 'explicit_max_ttl'>,
  made: RenewalRules,
): RenewalRules {
  const bounds = [token.explicit_max_ttl, made.explicit_max_ttl].filter((bound) => bound > 0);
  return { ...made, explicit_max_ttl: bounds.length > 0 ? Math.min(...bounds) : 0 };
}

export function rulesOfSettings(settings: TokenSettings): RenewalRules {
  return {
    explicit_max_ttl: settings.token_explicit_max_ttl,
    role_max_ttl: settings.token_max_ttl,
    period: settings.token_period,
  };
}

/**
 * Says why a log-in's token is not renewed by what its account gives by now; undefined: it is.
 *
 * @param asked `same`: the policies must be those that the token has; `no_less`: none of them may
 *   be missing. "default" counts for neither: it is added by another rule
 */
export function judgePolicies(
  has: readonly string[],
  gives: readonly string[],
  asked: 'same' | 'no_less',
): string | undefined {
  const [old, now] = [has, gives].map((names) => new Set(canonicalPolicies(names)));
  old?.delete('default');
  now?.delete('default');
  const isLess = [...(old ?? [])].some((name) => !now?.has(name));
  const isChanged = isLess || (asked === 'same' && old?.size !== now?.size);
  return isChanged ? 'policies have changed, not renewing' : undefined;
}
