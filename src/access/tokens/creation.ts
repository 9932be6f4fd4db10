import { Failure } from '../../core/failure.ts';
import { foldName } from '../../core/fold.ts';
import { PatternSet } from '../../core/pattern-set.ts';
import type { TokenFacts } from '../caller.ts';
import { listNames, planBounds } from './bounds.ts';
import { type LifetimeBounds, planLifetime } from './lifetime.ts';
import { areBlank, canonicalPolicies, requireModestNames } from './policy-names.ts';
import type { TokenRole } from './roles/role.ts';
import type { PlannedToken, TokenBody, TokenType } from './token.ts';

/** What a client asks for in `auth/token/create`. Seconds; undefined: not said. */
export interface TokenWish {
  id: string;
  policies: readonly string[];
  meta?: Record<string, string> | undefined;
  no_parent: boolean;
  no_default_policy: boolean;
  renewable: boolean;
  ttl: number;
  explicit_max_ttl: number;
  period: number;
  display_name: string;
  num_uses: number;
  type: string;
  entity_alias: string;
}

export interface CreationFacts {
  wish: TokenWish;
  parent: TokenFacts;
  /** Policies of the parent's entity and its groups. */
  entity_policies: readonly string[];
  /** The parent may do what is reserved to sudo on the path it asks at. */
  sudo: boolean;
  /** The path asked at makes orphans. */
  orphan: boolean;
  role: { name: string; rules: TokenRole } | undefined;
  default_ttl: number;
  max_ttl: number;
  /** Unix seconds. */
  now: number;
}

export interface Creation {
  token: PlannedToken;
  warnings: string[];
}

/** A policy that only the server itself hands out. */
const NOT_ASSIGNABLE = ['response-wrapping', 'control-group'];

/**
 * Decides what token a parent may make.
 *
 * @throws Failure `invalid` when it asks for more than it has, or for what cannot go together
 */
export function planToken(facts: CreationFacts): Creation {
  const { wish, parent, sudo, role, now } = facts;
  requireMother(parent);
  if (wish.id !== '') requireOwnId(wish.id, sudo);
  if (wish.no_parent && !sudo) {
    throw refuse('root or sudo privileges required to create orphan token');
  }
  if (wish.period > 0 && !sudo) {
    throw refuse('root or sudo privileges required to create periodic token');
  }
  if (wish.entity_alias !== '') {
    throw refuse(
      `entity_alias "${wish.entity_alias}" is not among the role's allowed_entity_aliases`,
    );
  }
  if (wish.num_uses < 0) throw refuse('num_uses cannot be negative');

  const policies = choosePolicies(facts);
  const type = chooseType(wish.type, role?.rules);
  const isOrphan = facts.orphan || wish.no_parent || role?.rules.orphan === true;
  const limits = limitsOf(facts);
  const num_uses = leastUses(wish.num_uses, role?.rules.token_num_uses ?? 0);
  if (type === 'batch') requireBatchable({ ...wish, num_uses }, policies, limits);

  const isRoot = policies.includes('root');
  const unending = isRoot && wish.ttl === 0 && limits.period === 0 && limits.explicit_max_ttl === 0;
  if (unending && parent.expires_at !== undefined) {
    throw refuse('expiring root tokens cannot create non-expiring root tokens');
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
  const lifetime = unending ? { ttl: 0, warnings: [] } : planLifetime(limits, wish.ttl, 0);
  const body: TokenBody = {
    policies,
    path: pathOf(facts),
    meta: wish.meta && Object.keys(wish.meta).length > 0 ? wish.meta : null,
    display_name: displayName(wish.display_name),
    num_uses,
    created_at: now,
    creation_ttl: lifetime.ttl,
    explicit_max_ttl: limits.explicit_max_ttl,
    role_max_ttl: 0,
    period: limits.period,
    renewable: !unending && type === 'service' && wish.renewable && (role?.rules.renewable ?? true),
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
function isRestricted({ wish, parent, role }: CreationFacts, policies: readonly string[]): boolean {
  if (parent.restricted || wish.policies.length > 0) return true;
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

function requireMother(parent: TokenFacts): void {
  if (parent.type === 'batch') throw refuse('batch tokens cannot create more tokens');
  if (parent.num_uses > 0) throw refuse('restricted use token cannot generate child tokens');
}

function requireOwnId(id: string, sudo: boolean): void {
  if (!sudo) throw refuse('root or sudo privileges required to specify token id');
  if (/^(hvs|hvb|hvr|s|b|r)\./.test(id) || /\s/.test(id)) {
    throw refuse('a token id of your own may hold no white space and no prefix such as "hvs."');
  }
}

function requireBatchable(
  wish: TokenWish,
  policies: readonly string[],
  limits: LifetimeBounds,
): void {
  if (policies.includes('root')) throw refuse('batch tokens cannot be root tokens');
  if (wish.id !== '') throw refuse('batch tokens cannot have an id of your own');
  if (limits.explicit_max_ttl > 0) throw refuse('batch tokens cannot have "explicit_max_ttl" set');
  if (limits.period > 0) throw refuse('batch tokens cannot have "period" set');
  if (wish.num_uses > 0) throw refuse('batch tokens cannot have "num_uses" set');
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
      throw refuse(`invalid "type" value "${wanted}": it is "service" or "batch"`);
  }
}

function choosePolicies(facts: CreationFacts): string[] {
  const { wish, parent, sudo, role } = facts;
  const wanted = canonicalPolicies(wish.policies);
  const forbidden = wanted.find((name) => NOT_ASSIGNABLE.includes(name));
  if (forbidden !== undefined) throw refuse(`cannot assign policy "${forbidden}"`);
  const policies =
    role && restricts(role.rules)
      ? policiesOfRole(wish, wanted, parent, role.rules)
      : policiesOfParent(wish, wanted, parent, sudo, role?.rules.token_no_default_policy ?? false);
  if (!policies.includes('root')) return policies;
  if (!parent.policies.includes('root')) {
    throw refuse('root tokens may not be created without parent token being root');
  }
  return ['root'];
}

function policiesOfParent(
  wish: TokenWish,
  wanted: string[],
  parent: TokenFacts,
  sudo: boolean,
  noDefault: boolean,
): string[] {
  // A list of blank names is a list: it does not stand for all that the parent has.
  const named = wish.policies.length > 0;
  if (named && !sudo && !wanted.every((name) => parent.policies.includes(name))) {
    throw refuse('child policies must be subset of parent');
  }
  const chosen = named ? wanted : [...parent.policies];
  // Whoever has no "default" can pass none on, unless there is nothing it may not do.
  const adds =
    !wish.no_default_policy && !noDefault && (sudo || parent.policies.includes('default'));
  if (!named && !parent.policies.includes('default')) return canonicalPolicies(chosen);
  const withoutDefault = (wish.no_default_policy || noDefault) && !wanted.includes('default');
  const kept = withoutDefault ? chosen.filter((name) => name !== 'default') : chosen;
  return canonicalPolicies(adds ? [...kept, 'default'] : kept);
}

/** A list of blank names that a role was given once: it is a list of what is allowed, and allows nothing. */
function allowsSome(role: TokenRole): boolean {
  return role.allowed_policies.length > 0 || role.allowed_policies_glob.length > 0;
}

/** Whether a role has a rule of its own about policies; refusing nothing by name is none. */
function restricts(role: TokenRole): boolean {
  const refused = [...role.disallowed_policies, ...role.disallowed_policies_glob];
  return allowsSome(role) || !areBlank(refused);
}

/** A role with policy lists stands in for the rule that a child has no more than its parent. */
function policiesOfRole(
  wish: TokenWish,
  wanted: string[],
  parent: TokenFacts,
  role: TokenRole,
): string[] {
  const allowed = canonicalPolicies(role.allowed_policies);
  const isListed = allowsSome(role);
  const fallback = isListed ? allowed : [...parent.policies];
  const chosen = wish.policies.length > 0 ? wanted : fallback;
  const disallowed = canonicalPolicies(role.disallowed_policies);
  const fitsDisallowed = namedBy(role.disallowed_policies_glob, true);
  const fitsAllowed = namedBy(role.allowed_policies_glob, false);
  const isDisallowed = (name: string) => disallowed.includes(name) || fitsDisallowed(name);

  // "default" belongs to every token, so a list of allowed policies need not name it.
  const beyond = chosen.find(
    (name) => isListed && name !== 'default' && !allowed.includes(name) && !fitsAllowed(name),
  );
  if (beyond !== undefined) {
    throw refuse(
      `token policies must be subset of the role's allowed policies: "${beyond}" is not among them`,
    );
  }
  const refused = chosen.find(isDisallowed);
  if (refused !== undefined) throw refuse(`token policy "${refused}" is disallowed by this role`);

  const adds = !wish.no_default_policy && !role.token_no_default_policy && !isDisallowed('default');
  return canonicalPolicies(adds ? [...chosen, 'default'] : chosen);
}

/** What comparing a token's names with a role's patterns may come to: some milliseconds. */
const MOST_COMPARISONS = 50_000;

/**
 * Says of names whether a pattern is the whole of one; `*` stands for any text, anywhere.
 *
 * @param otherwise the answer where comparing would take too long
 */
export function namedBy(
  patterns: readonly string[],
  otherwise: boolean,
): (name: string) => boolean {
  const set = new PatternSet(patterns.map((pattern) => foldName(pattern.trim())));
  const budget = { left: MOST_COMPARISONS };
  return (name) => {
    const fits = set.has(name, budget);
    return budget.left < 0 ? otherwise : fits;
  };
}

function limitsOf({ wish, role, default_ttl, max_ttl }: CreationFacts): LifetimeBounds {
  const rules = role?.rules;
  const roleMax = rules ? rules.token_explicit_max_ttl || rules.explicit_max_ttl : 0;
  const rolePeriod = rules ? rules.token_period || rules.period : 0;
  const bounds = [wish.explicit_max_ttl, roleMax].filter((bound) => bound > 0);
  return {
    default_ttl,
    max_ttl,
    explicit_max_ttl: bounds.length > 0 ? Math.min(...bounds, max_ttl) : 0,
    role_max_ttl: 0,
    period: rolePeriod || wish.period,
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

/** `ci job` becomes `token-ci-job`; nothing asked for is `token`. */
export function displayName(wanted: string): string {
  // As many hyphens as there were characters: clients compare what they sent with what they read.
  const plain = wanted.replace(/[^a-zA-Z0-9-]/g, '-').replace(/-$/, '');
  return plain === '' || wanted === 'token' ? 'token' : `token-${plain}`;
}

function refuse(message: string): Failure {
  return new Failure('invalid', message);
}
