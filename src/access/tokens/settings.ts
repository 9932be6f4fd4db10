import { z } from 'zod';
import type { LogInAlias } from '../../app/caller.ts';
import { plainAddress, requireCidrs } from '../../config/cidrs.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { choice, duration, flag, integer } from '../../core/fields.ts';
import { type Creation, planned } from './creation.ts';
import { blockList, policyList } from './field-kinds.ts';
import { planLifetime } from './lifetime.ts';
import { canonicalPolicies, requireModestNames } from './policy-names.ts';
import { TOKEN_TYPES } from './role.ts';
import type { TokenType } from './token.ts';

/** What an account says about the tokens that its log-ins make. */
export const tokenSettingFields = {
  token_ttl: duration(0).describe("How long its tokens live. Seconds; 0: the mount's default."),
  token_max_ttl: duration(0).describe('Renewals go no further. Seconds; 0: the mount maximum.'),
  token_policies: policyList([]).describe('Policies of its tokens.'),
  token_bound_cidrs: blockList([]).describe('Addresses to log in from and use its tokens from.'),
  token_explicit_max_ttl: duration(0).describe('No token lives longer. Seconds; 0: no bound.'),
  token_no_default_policy: flag(false).describe('Its tokens do not get the policy "default".'),
  token_num_uses: integer(0).describe('Requests that each token is good for. 0: unlimited.'),
  token_period: duration(0).describe('Each renewal gives this much, without end. Seconds; 0: no.'),
  token_strictly_bind_ip: flag(false).describe(
    'Its tokens may be used from where they were logged in alone.',
  ),
  token_type: choice(TOKEN_TYPES, 'default').describe(
    'Service tokens are stored and can be revoked; batch tokens are neither.',
  ),
};
const tokenSettingsSchema = z.object(tokenSettingFields);
export type TokenSettings = z.output<typeof tokenSettingsSchema>;

/**
 * @param stored what they were: a list that is not written anew is as long as it was
 * @throws Failure `invalid` for what cannot go together, or is no value at all
 */
export function checkTokenSettings(
  settings: TokenSettings,
  stored: Pick<TokenSettings, 'token_policies'> | undefined,
): void {
  if (settings.token_num_uses < 0) throw invalid('token_num_uses cannot be negative');
  if (settings.token_max_ttl > 0 && settings.token_ttl > settings.token_max_ttl) {
    throw invalid('token_ttl cannot be greater than token_max_ttl');
  }
  const { token_type, token_period, token_num_uses, token_explicit_max_ttl } = settings;
  const isBounded = token_period > 0 || token_num_uses > 0 || token_explicit_max_ttl > 0;
  if (token_type === 'batch' && isBounded) {
    throw invalid(
      'token_type: batch tokens cannot have a period, an explicit maximum or counted uses',
    );
  }
  const policies = canonicalPolicies(settings.token_policies);
  if (policies.includes('root')) {
    throw invalid('token_policies: auth methods cannot create root tokens');
  }
  // With the one that its tokens get besides.
  if (settings.token_policies !== stored?.token_policies) {
    requireModestNames('token_policies', policies, ['default']);
  }
  requireCidrs('token_bound_cidrs', settings.token_bound_cidrs);
}

export interface LogIn {
  settings: TokenSettings;
  /** Who logged in, e.g. `userpass-bob`. */
  display_name: string;
  meta: Record<string, string>;
  /** Whom the token stands for. */
  entity_id: string;
  alias: LogInAlias;
  /** Whence, as the socket has it. */
  remote_address: string;
  /** Where, e.g. `auth/userpass/login/bob`. */
  path: string;
  mount: { id: string; token_type: string; default_ttl: number; max_ttl: number };
  /** Unix seconds. */
  now: number;
}

/** Works out the token of a log-in that has succeeded. It has no parent. */
export function planLogIn(login: LogIn): Creation {
  const { settings, mount, now } = login;
  const bounds = {
    default_ttl: settings.token_ttl || mount.default_ttl,
    max_ttl: mount.max_ttl,
    explicit_max_ttl: settings.token_explicit_max_ttl,
    role_max_ttl: settings.token_max_ttl,
    period: settings.token_period,
  };
  const { ttl, warnings } = planLifetime(bounds, 0, 0);
  const type = chooseType(settings.token_type, mount.token_type);
  const policies = canonicalPolicies([
    ...settings.token_policies,
    ...(settings.token_no_default_policy ? [] : ['default']),
  ]);
  // Checked when the account is written; what is stored is not trusted with this.
  if (policies.includes('root')) throw invalid('auth methods cannot create root tokens');
  requireModestNames('token_policies', policies);
  const body = {
    policies,
    path: login.path,
    meta: login.meta,
    display_name: login.display_name,
    num_uses: settings.token_num_uses,
    created_at: now,
    creation_ttl: ttl,
    explicit_max_ttl: settings.token_explicit_max_ttl,
    role_max_ttl: settings.token_max_ttl,
    period: settings.token_period,
    renewable: type === 'service',
    role: '',
    entity_id: login.entity_id,
    bound_cidrs: boundsOf(login),
    alias: login.alias,
  };
  return { token: { ...planned(body, type, undefined, now), mount_id: mount.id }, warnings };
}

/** A log-in is within its account's blocks: where it came from is the least of them. */
function boundsOf({ settings, remote_address }: LogIn): string[] {
  if (!settings.token_strictly_bind_ip) return settings.token_bound_cidrs;
  const address = plainAddress(remote_address);
  if (address === undefined) throw new Failure('forbidden', 'permission denied');
  return [address];
}

/** The account decides, and where it leaves it open, the mount. */
function chooseType(byAccount: string, byMount: string): TokenType {
  const decided = byAccount === 'default' ? byMount : byAccount;
  return decided === 'batch' || decided === 'default-batch' ? 'batch' : 'service';
}
