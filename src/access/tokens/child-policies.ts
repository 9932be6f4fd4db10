import type { TokenFacts } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import { foldName } from '../../core/fold.ts';
import { PatternSet } from '../../core/pattern-set.ts';
import type { CreationFacts, TokenRequest } from './creation-request.ts';
import { areBlank, canonicalPolicies } from './policy-names.ts';
import type { TokenRole } from './role.ts';

/** A policy that only the server itself hands out. @see S-47 */
const NOT_ASSIGNABLE = ['response-wrapping', 'control-group'];

export function choosePolicies(facts: CreationFacts): string[] {
  const { request, parent, role } = facts;
  const wanted = canonicalPolicies(request.policies);
  const forbidden = wanted.find((name) => NOT_ASSIGNABLE.includes(name));
  if (forbidden !== undefined) throw invalid(`cannot assign policy "${forbidden}"`);
  const policies =
    role && restricts(role.rules)
      ? policiesOfRole(request, wanted, parent, role.rules)
      : policiesOfParent(facts, wanted);
  if (!policies.includes('root')) return policies;
  if (!parent.policies.includes('root')) {
    throw invalid('root tokens may not be created without parent token being root');
  }
  return ['root'];
}

/** @see S-44 */
function policiesOfParent(
  { request, parent, sudo, role }: CreationFacts,
  wanted: string[],
): string[] {
  const noDefault = request.no_default_policy || role?.rules.token_no_default_policy === true;
  // A list of blank names is a list: it does not stand for all that the parent has.
  const named = request.policies.length > 0;
  if (named && !sudo && !wanted.every((name) => parent.policies.includes(name))) {
    throw invalid('child policies must be subset of parent');
  }
  const chosen = named ? wanted : [...parent.policies];
  // Whoever has no "default" can pass none on, unless there is nothing it may not do.
  const adds = !noDefault && (sudo || parent.policies.includes('default'));
  if (!named && !parent.policies.includes('default')) return canonicalPolicies(chosen);
  const withoutDefault = noDefault && !wanted.includes('default');
  const kept = withoutDefault ? chosen.filter((name) => name !== 'default') : chosen;
  return canonicalPolicies(adds ? [...kept, 'default'] : kept);
}

/** A list of blank names that a role was given once: it is a list of what is allowed, and allows nothing. */
function allowsSome(role: TokenRole): boolean {
  return role.allowed_policies.length > 0 || role.allowed_policies_glob.length > 0;
}

/** Whether a role has a rule of its own about policies; refusing nothing by name is none. */
export function restricts(role: TokenRole): boolean {
  const refused = [...role.disallowed_policies, ...role.disallowed_policies_glob];
  return allowsSome(role) || !areBlank(refused);
}

/** A role with policy lists stands in for the rule that a child has no more than its parent. @see S-53 */
function policiesOfRole(
  request: TokenRequest,
  wanted: string[],
  parent: TokenFacts,
  role: TokenRole,
): string[] {
  const allowed = canonicalPolicies(role.allowed_policies);
  const isListed = allowsSome(role);
  const fallback = isListed ? allowed : [...parent.policies];
  const chosen = request.policies.length > 0 ? wanted : fallback;
  const disallowed = canonicalPolicies(role.disallowed_policies);
  const fitsDisallowed = namedBy(role.disallowed_policies_glob, true);
  const fitsAllowed = namedBy(role.allowed_policies_glob, false);
  const isDisallowed = (name: string) => disallowed.includes(name) || fitsDisallowed(name);

  // "default" belongs to every token, so a list of allowed policies need not name it.
  const beyond = chosen.find(
    (name) => isListed && name !== 'default' && !allowed.includes(name) && !fitsAllowed(name),
  );
  if (beyond !== undefined) {
    throw invalid(
      `token policies must be subset of the role's allowed policies: "${beyond}" is not among them`,
    );
  }
  const refused = chosen.find(isDisallowed);
  if (refused !== undefined) throw invalid(`token policy "${refused}" is disallowed by this role`);

  const adds =
    !request.no_default_policy && !role.token_no_default_policy && !isDisallowed('default');
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
