import { z } from 'zod';
import type { AuthAnswer } from '../../app/result.ts';
import { formatTimestamp } from '../../core/timestamps.ts';
import type { Token } from './token.ts';

/** Seconds a token has left; 0 for one that does not run out. */
function remainingTtl(token: Pick<Token, 'expires_at'>, now: number): number {
  return token.expires_at === undefined ? 0 : Math.max(0, token.expires_at - now);
}

/**
 * The `auth` object for whoever made or renewed a token.
 *
 * @param client_token its text; empty where the caller named it by its accessor
 * @param identity_policies what the entity behind it adds
 */
export function describeAuth(
  token: Token,
  client_token: string,
  now: number,
  identity_policies: readonly string[] = [],
): AuthAnswer {
  return {
    client_token,
    accessor: token.accessor,
    policies: [...new Set([...token.policies, ...identity_policies])].sort(),
    token_policies: token.policies,
    ...(identity_policies.length > 0 ? { identity_policies } : {}),
    metadata: token.meta,
    lease_duration: remainingTtl(token, now),
    renewable: token.renewable,
    entity_id: token.entity_id,
    token_type: token.type,
    orphan: token.parent_id === undefined,
    mfa_requirement: null,
    num_uses: token.num_uses,
  };
}

/** What a look-up tells of a token. */
export const tokenReply = z.object({
  accessor: z.string().describe('Empty for a batch token.'),
  bound_cidrs: z.array(z.string()).optional().describe('Addresses that it may be used from.'),
  creation_time: z.int().describe('Unix seconds.'),
  creation_ttl: z.int().describe('Seconds; 0: it does not run out.'),
  display_name: z.string(),
  entity_id: z.string().describe('Empty where it stands for nobody.'),
  expire_time: z.string().nullable().describe('RFC 3339.'),
  explicit_max_ttl: z.int().describe('Seconds; 0: no such bound.'),
  id: z.string().describe('Its text; empty where it was looked up by its accessor.'),
  identity_policies: z.array(z.string()).optional().describe('What the entity behind it adds.'),
  issue_time: z.string().describe('RFC 3339.'),
  last_renewal: z.string().optional().describe('RFC 3339.'),
  last_renewal_time: z.int().optional().describe('Unix seconds.'),
  meta: z.record(z.string(), z.string()).nullable(),
  num_uses: z.int().describe('Requests that it is good for yet. 0: unlimited.'),
  orphan: z.boolean(),
  path: z.string().describe('Where it was made.'),
  period: z.int().optional().describe('Seconds that each renewal gives.'),
  policies: z.array(z.string()),
  renewable: z.boolean(),
  role: z.string().optional().describe('The token role it was made by.'),
  ttl: z.int().describe('Seconds that are left; 0: it does not run out.'),
  type: z.enum(['service', 'batch']),
});
export type TokenReply = z.output<typeof tokenReply>;

/** @param id its text, or empty where the caller named it by its accessor */
export function describeToken(
  token: Token,
  id: string,
  now: number,
  identity_policies: readonly string[] = [],
): TokenReply {
  const { expires_at, renewed_at } = token;
  return {
    accessor: token.accessor,
    ...(token.bound_cidrs.length > 0 ? { bound_cidrs: token.bound_cidrs } : {}),
    creation_time: token.created_at,
    creation_ttl: token.creation_ttl,
    display_name: token.display_name,
    entity_id: token.entity_id,
    expire_time: expires_at === undefined ? null : formatTimestamp(expires_at),
    explicit_max_ttl: token.explicit_max_ttl,
    id,
    ...(identity_policies.length > 0 ? { identity_policies: [...identity_policies] } : {}),
    issue_time: formatTimestamp(token.created_at),
    ...(renewed_at === undefined
      ? {}
      : { last_renewal: formatTimestamp(renewed_at), last_renewal_time: renewed_at }),
    meta: token.meta,
    num_uses: token.num_uses === 0 ? 0 : token.uses_left,
    orphan: token.parent_id === undefined,
    path: token.path,
    ...(token.period > 0 ? { period: token.period } : {}),
    policies: token.policies,
    renewable: token.renewable,
    ...(token.role === '' ? {} : { role: token.role }),
    ttl: remainingTtl(token, now),
    type: token.type,
  };
}
