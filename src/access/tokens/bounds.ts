import type { LogInAlias, PolicySet, TokenBounds } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import { canonicalPolicies } from './policy-names.ts';

/** A token as far as it decides what it may do. */
export interface BoundedToken {
  policies: readonly string[];
  entity_id: string;
  restricted?: boolean | undefined;
  bounds?: TokenBounds | undefined;
  alias?: LogInAlias | undefined;
}

export interface Making {
  parent: BoundedToken;
  /** Of the parent's entity and its groups. */
  entity_policies: readonly string[];
  /** Of the token that is made. */
  policies: readonly string[];
  is_orphan: boolean;
  /**
   * Who may do what is reserved to sudo may name any policy, and a role with lists of policies says
   * what its tokens have: neither goes by the maker's own.
   */
  any_policy: boolean;
  /** May leave the entity, and with it what that is denied. */
  may_leave: boolean;
}

/** Each makes one more decision of every request: nobody needs a line of so many that differ. */
const MOST_CEILINGS = 8;

/**
 * Works out what a token that is made from another is bounded by.
 *
 * @returns undefined for one that its own policies and its entity's bound already
 * @throws Failure `invalid` when too many above it had other policies each
 */
export function planBounds(making: Making): TokenBounds | undefined {
  const { parent, policies, any_policy, is_orphan, may_leave } = making;
  if (parent.policies.includes('root') || (is_orphan && may_leave)) return undefined;
  const own = { policies, entity_id: is_orphan ? '' : parent.entity_id };
  const above = ceilingsOf(parent);
  const from = parent.entity_id || (above.at(-1)?.entity_id ?? '');
  const ceilings = any_policy
    ? [{ policies, entity_id: from }]
    : isSame(own, parent)
      ? above
      : [{ policies: parent.policies, entity_id: parent.entity_id }, ...above];
  if (ceilings.length > MOST_CEILINGS) {
    throw invalid(
      `at most ${MOST_CEILINGS} tokens above another may have policies that differ: make it from one further up`,
    );
  }
  if (ceilings.every((ceiling) => isSame(ceiling, own))) return undefined;
  const kept =
    parent.entity_id === '' ? (parent.bounds?.entity_policies ?? []) : making.entity_policies;
  return { ceilings, entity_policies: own.entity_id === '' ? kept : [] };
}

/** All names of policies that bound a token, which are kept with it. */
export function listNames(bounds: TokenBounds | undefined): (readonly string[])[] {
  if (!bounds) return [];
  return [...bounds.ceilings.map(({ policies }) => policies), bounds.entity_policies];
}

/** A token of an older server is bounded by what its entity is denied. */
function ceilingsOf({
  bounds,
  restricted,
  policies,
  entity_id,
}: BoundedToken): readonly PolicySet[] {
  return bounds?.ceilings ?? (restricted && entity_id !== '' ? [{ policies, entity_id }] : []);
}

function isSame(a: PolicySet, b: PolicySet): boolean {
  return (
    a.entity_id === b.entity_id &&
    a.policies.length === b.policies.length &&
    a.policies.every((name, at) => name === b.policies[at])
  );
}

/**
 * What a token is judged by, each of which must allow what it asks for: first its own policies, then
 * its ceilings, of which the outermost has what the entity and its groups are given or denied besides.
 *
 * @param entity_policies of the token's entity and groups, as they are now
 */
export function listPolicySets(
  token: BoundedToken,
  entity_policies: readonly string[],
): PolicySet[] {
  const { policies, entity_id, restricted, bounds } = token;
  const given = entity_id === '' ? (bounds?.entity_policies ?? []) : entity_policies;
  const ceilings = ceilingsOf(token);
  const isWhole = !restricted && entity_id !== '';
  const own = { policies: isWhole ? [...policies, ...given] : policies, entity_id };
  const bounding = ceilings.map((ceiling, at) =>
    at < ceilings.length - 1 ? ceiling : { ...ceiling, policies: [...ceiling.policies, ...given] },
  );
  const sets = [own, ...bounding].map((set) => ({
    ...set,
    policies: canonicalPolicies(set.policies),
  }));
  // The same policies for the same person allow the same.
  return sets.filter((set, at) => !sets.slice(0, at).some((before) => isSame(set, before)));
}
