import { z } from 'zod';
import { requireCidrs } from '../../config/cidrs.ts';
import { invalid } from '../../core/failure.ts';
import { choice, duration, flag, integer, modestList, text } from '../../core/fields.ts';
import { storedOf } from '../../core/stored-fields.ts';
import { blockList, policyList } from './field-kinds.ts';
import { areBlank } from './policy-names.ts';

export const TOKEN_TYPES = [
  'default-service',
  'default-batch',
  'default',
  'service',
  'batch',
] as const;

/** What a token role says about the tokens that are made through it. */
export const tokenRoleFields = {
  allowed_policies: policyList([]).describe(
    'Policies that its tokens may have. Empty: see the globs.',
  ),
  disallowed_policies: policyList([]).describe('Policies that its tokens may not have.'),
  allowed_policies_glob: policyList([]).describe('As allowed_policies, with "*" for any text.'),
  disallowed_policies_glob: policyList([]).describe(
    'As disallowed_policies, with "*" for any text.',
  ),
  allowed_entity_aliases: modestList([]).describe('Entity aliases that its tokens may be tied to.'),
  orphan: flag(false).describe('Its tokens have no parent and outlive whoever made them.'),
  renewable: flag(true).describe('Its tokens can be renewed.'),
  path_suffix: text('').describe('Added to the path that its tokens are recorded with.'),
  period: duration(0).describe('Old name of token_period.'),
  explicit_max_ttl: duration(0).describe('Old name of token_explicit_max_ttl.'),
  token_period: duration(0).describe('Each renewal gives this much, without end. Seconds; 0: no.'),
  token_explicit_max_ttl: duration(0).describe('No token lives longer. Seconds; 0: no such bound.'),
  token_bound_cidrs: blockList([]).describe(
    'Addresses that its tokens may be used from. Empty: all.',
  ),
  token_num_uses: integer(0).describe('Requests that each token is good for. 0: unlimited.'),
  token_no_default_policy: flag(false).describe('Its tokens do not get the policy "default".'),
  token_type: choice(TOKEN_TYPES, 'default-service').describe(
    'Service tokens are stored and can be revoked; batch tokens are neither.',
  ),
};
export const tokenRoleSchema = z.object(tokenRoleFields);
/** As a role is kept. */
export const storedTokenRole = storedOf(tokenRoleFields);
export type TokenRole = z.output<typeof tokenRoleSchema>;

const POLICY_LISTS = [
  'allowed_policies',
  'disallowed_policies',
  'allowed_policies_glob',
  'disallowed_policies_glob',
] as const;

const PATH_SUFFIX = /^\w[\w.-]*\w$/;

/** @throws Failure `invalid` for what cannot go together, or is no value at all */
export function checkTokenRole(role: TokenRole): void {
  if (role.path_suffix !== '' && !PATH_SUFFIX.test(role.path_suffix)) {
    throw invalid(
      'path_suffix: letters, digits, "_", "-" and ".", beginning and ending with one of the former',
    );
  }
  if (role.token_num_uses < 0) throw invalid('token_num_uses cannot be negative');
  const bounds = [
    role.token_explicit_max_ttl,
    role.explicit_max_ttl,
    role.token_period,
    role.period,
  ];
  const isBounded = bounds.some((bound) => bound > 0) || role.token_num_uses > 0;
  if (role.token_type === 'batch' && isBounded) {
    throw invalid(
      'token_type: batch tokens cannot have a period, an explicit maximum or counted uses',
    );
  }
  requireCidrs('token_bound_cidrs', role.token_bound_cidrs);
  for (const field of POLICY_LISTS) requireSomeName(field, role[field]);
}

/** Of a list without a name nobody can tell whether it was to allow nothing or to be no list. */
function requireSomeName(field: string, names: readonly string[]): void {
  if (names.length === 0 || !areBlank(names)) return;
  throw invalid(`${field}: a list of blanks only; for no list leave it empty`, {
    fields: { [field]: 'names of policies, or no items' },
  });
}

/** A role as it is read; fields that are rarely set are there only when they are. */
export const tokenRoleReply = z.object({
  name: z.string(),
  ...tokenRoleFields,
  token_bound_cidrs: z.array(z.string()).optional().describe('Left out where it is empty.'),
  token_num_uses: z.int().optional().describe('Left out where it is 0.'),
});
export type TokenRoleReply = z.output<typeof tokenRoleReply>;

export function describeTokenRole(name: string, role: TokenRole): TokenRoleReply {
  const { token_bound_cidrs, token_num_uses, ...always } = role;
  return {
    name,
    ...always,
    ...(token_bound_cidrs.length > 0 ? { token_bound_cidrs } : {}),
    ...(token_num_uses > 0 ? { token_num_uses } : {}),
  };
}
