import type { TokenFacts } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import { listNames, planBounds } from './bounds.ts';
import { choosePolicies, restricts } from './child-policies.ts';
import type { CreationFacts, TokenRequest } from './creation-request.ts';
import { type LifetimeBounds, planLifetime } from './lifetime.ts';
import { requireModestNames } from './policy-names.ts';
import type { TokenRole } from './role.ts';
import { displayName, type PlannedToken, type TokenBody, type TokenType } from './token.ts';

export interface Creation {
  token: PlannedToken;
  warnings: string[];
}

/**
 * Decides what token a parent may make.
 *
 * @throws Failure `invalid` when it asks for more than it has, or for what cannot go together
 */
export function planToken(facts: CreationFacts): Creation {
  const { request, parent, sudo, role, now } = facts;
  requireParentMayCreate(parent);
  if (request.id !== '') requireOwnId(request.id, sudo);
  if (request.no_parent && !sudo) {
    throw invalid('root or sudo privileges required to create orphan token');
  }
  if (request.period > 0 && !sudo) {
    throw invalid('root or sudo privileges required to create periodic token');
  }
  if (request.entity_alias !== '') {
    throw invalid(
      `entity_alias "${request.entity_alias}" is not among the role's allowed_entity_aliases`,
    );
  }
  if (request.num_uses < 0) throw invalid('num_uses cannot be negative');

  const policies = choosePolicies(facts);
  const type = chooseType(request.type, role?.rules);
  const isOrphan = facts.orphan || request.no_parent || role?.rules.orphan === true;
  const limits = limitsOf(facts);
  const num_uses = leastUses(request.num_uses, role?.rules.token_num_uses ?? 0);
  if (type === 'batch') requireBatchable({ ...request, num_uses }, policies, limits);

  const isRoot = policies.includes('root');
  const unending =
    isRoot && request.ttl === 0 && limits.period === 0 && limits.explicit_max_ttl === 0;
  if (unending && parent.expires_at !== undefined) {
    throw invalid('expiring root tokens cannot create non-expiring root tokens');
  }
  const bounds = planBounds({
    parent,
    entity_policies: facts.entity_policies,
    policies,
    is_orphan: isOrphan,
    any_policy: sudo || (role !== undefined && restricts(role.rules)),
    may_leave: sudo,
  });
  requireModestNames('policies', policies, ...listNames(bounds));
  const lifetime = unending ? { ttl: 0, warnings: [] } : planLifetime(limits, request.ttl, 0);
  const body: TokenBody = {
    policies,
    path: pathOf(facts),
    meta: request.meta && Object.keys(request.meta).length > 0 ? request.meta : null,
    display_name: displayName(request.display_name),
    num_uses,
    created_at: now,
    creation_ttl: lifetime.ttl,
    explicit_max_ttl: limits.explicit_max_ttl,
    role_max_ttl: 0,
    period: limits.period,
    renewable:
      !unending && type === 'service' && request.renewable && (role?.rules.renewable ?? true),
    role: role?.name ?? '',
    entity_id: isOrphan ? '' : parent.entity_id,
    bound_cidrs: addressesOf(facts, isOrphan),
    restricted: isRestricted(facts, policies),
    bounds,
  };
  return {
    token: planned(body, type, isOrphan ? undefined : parent, now),
    warnings: lifetime.warnings,
  };
}

/**
 * A child stays where its parent may be used from, unless a role says from where, or somebody makes an
 * orphan who may do that without a role.
 */
function addressesOf({ parent, role, sudo }: CreationFacts, isOrphan: boolean): string[] {
  const byRole = role?.rules.token_bound_cidrs ?? [];
  return byRole.length > 0 || (isOrphan && sudo) ? byRole : [...parent.bound_cidrs];
}

/**
 * Whether a token is made to have less than its parent: it names its policies, or lacks one of
 * the parent's. What the parent has by its entity it must then not have either.
 */
function isRestricted(
  { request, parent, role }: CreationFacts,
  policies: readonly string[],
): boolean {
  if (parent.restricted || request.policies.length > 0) return true;
  if (role && restricts(role.rules)) return true;
  return !parent.policies.every((name) => policies.includes(name));
}

/** Completes what is fixed about a token with what changes while it lives. */
export function planned(
  body: TokenBody,
  type: TokenType,
  parent: Pick<TokenFacts, 'id' | 'accessor'> | undefined,
  now: number,
): PlannedToken {
  return {
    ...body,
    type,
    parent_id: parent?.id,
    // What has a row is bound to its parent's row, whatever comes after that.
    ...(parent && type === 'batch' ? { parent_accessor: parent.accessor } : {}),
    mount_id: '',
    expires_at: body.creation_ttl > 0 ? now + body.creation_ttl : undefined,
    uses_left: body.num_uses,
    renewed_at: undefined,
  };
}

/** @see S-46 */
function requireParentMayCreate(parent: TokenFacts): void {
  if (parent.type === 'batch') throw invalid('batch tokens cannot create more tokens');
  if (parent.num_uses > 0) throw invalid('restricted use token cannot generate child tokens');
}

function requireOwnId(id: string, sudo: boolean): void {
  if (!sudo) throw invalid('root or sudo privileges required to specify token id');
  if (/^(hvs|hvb|hvr|s|b|r)\./.test(id) || /\s/.test(id)) {
    throw invalid('a token id of your own may hold no white space and no prefix such as "hvs."');
  }
}

/** @see S-46 */
function requireBatchable(
  request: TokenRequest,
  policies: readonly string[],
  limits: LifetimeBounds,
): void {
  if (policies.includes('root')) throw invalid('batch tokens cannot be root tokens');
  if (request.id !== '') throw invalid('batch tokens cannot have an id of your own');
  if (limits.explicit_max_ttl > 0) throw invalid('batch tokens cannot have "explicit_max_ttl" set');
  if (limits.period > 0) throw invalid('batch tokens cannot have "period" set');
  if (request.num_uses > 0) throw invalid('batch tokens cannot have "num_uses" set');
}

function chooseType(wanted: string, role: TokenRole | undefined): TokenType {
  const byRole = role?.token_type ?? 'default-service';
  if (byRole === 'service' || byRole === 'batch') return byRole;
  switch (wanted) {
    case '':
      return byRole === 'default-batch' ? 'batch' : 'service';
    case 'service':
    case 'batch':
      return wanted;
    default:
      throw invalid(`invalid "type" value "${wanted}": it is "service" or "batch"`);
  }
}

function limitsOf({ request, role, default_ttl, max_ttl }: CreationFacts): LifetimeBounds {
  const rules = role?.rules;
  const roleMax = rules ? rules.token_explicit_max_ttl || rules.explicit_max_ttl : 0;
  const rolePeriod = rules ? rules.token_period || rules.period : 0;
  const bounds = [request.explicit_max_ttl, roleMax].filter((bound) => bound > 0);
  return {
    default_ttl,
    max_ttl,
    explicit_max_ttl: bounds.length > 0 ? Math.min(...bounds, max_ttl) : 0,
    role_max_ttl: 0,
    period: rolePeriod || request.period,
  };
}

function leastUses(...limits: number[]): number {
  const set = limits.filter((limit) => limit > 0);
  return set.length > 0 ? Math.min(...set) : 0;
}

function pathOf({ orphan, role }: CreationFacts): string {
  if (role) {
    const suffix = role.rules.path_suffix;
    return `auth/token/create/${role.name}${suffix === '' ? '' : `/${suffix}`}`;
  }
  return orphan ? 'auth/token/create-orphan' : 'auth/token/create';
}
