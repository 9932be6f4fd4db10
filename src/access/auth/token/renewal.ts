import { areWithin, judgeAddress, plainAddress } from '../../../config/cidrs.ts';
import { canonicalPolicies } from '../../tokens/policy-names.ts';
import type { TokenSettings } from '../../tokens/settings.ts';
import type { Token } from '../../tokens/token.ts';

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

/**
 * Says why a log-in's token is not renewed by the addresses that its account allows by now; undefined: it is.
 *
 * @param from where it is renewed from by whoever has it; undefined: somebody else renews it, and it may not be
 *   good for more addresses than its account
 */
export function judgeAddresses(
  has: readonly string[],
  {
    token_bound_cidrs,
    token_strictly_bind_ip,
  }: Pick<TokenSettings, 'token_bound_cidrs' | 'token_strictly_bind_ip'>,
  from: string | undefined,
): string | undefined {
  const isNear =
    from === undefined ? isWithin(has, token_bound_cidrs) : judgeAddress(token_bound_cidrs, from);
  if (!isNear) return 'the address is not allowed any more, not renewing';
  const isStrict = has.length === 1 && plainAddress(has[0]) !== undefined;
  const isLoose = token_strictly_bind_ip && !isStrict;
  return isLoose ? 'log-ins are bound to one address by now, not renewing' : undefined;
}

/** No blocks at all are all addresses. */
const isWithin = (cidrs: readonly string[], outer: readonly string[]): boolean =>
  outer.length === 0 || (cidrs.length > 0 && areWithin(cidrs, outer));
