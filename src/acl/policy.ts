import { findSelected, type IdentityFacts } from '../core/identity-template.ts';
import { fillPattern, type PathPattern } from './path-pattern.ts';

export const CAPABILITIES = [
  'create',
  'delete',
  'deny',
  'list',
  'patch',
  'read',
  'recover',
  'scan',
  'subscribe',
  'sudo',
  'update',
] as const;
export type PolicyCapability = (typeof CAPABILITIES)[number];

/** A value that a parameter rule names. Strings may have a `*` at either end. */
export type ParameterValue = string | number | boolean | null | readonly ParameterValue[];

/** Values by lower-case parameter name; an empty list stands for every value. */
export type ParameterRules = ReadonlyMap<string, readonly ParameterValue[]>;

export const NO_PARAMETERS: ParameterRules = new Map();

/** The three conditions on parameters of a rule; names in lower case. */
export interface ParameterConditions {
  allowed_parameters: ParameterRules;
  denied_parameters: ParameterRules;
  required_parameters: readonly string[];
}

/** Whether any of the three is there. */
export function hasConditions(rule: ParameterConditions): boolean {
  const { allowed_parameters, denied_parameters, required_parameters } = rule;
  return allowed_parameters.size + denied_parameters.size + required_parameters.length > 0;
}

/** What a stanza asks of the requests that it is about. */
export interface Conditions extends ParameterConditions {
  /** Seconds; undefined: no bound. */
  min_wrapping_ttl: number | undefined;
  max_wrapping_ttl: number | undefined;
  /** Largest page that a list request may ask for. */
  pagination_limit: number | undefined;
  /**
   * A condition of the stanza that this server cannot check. Such a stanza is accepted and grants
   * nothing: leaving out the condition would grant more than its author did.
   */
  unmet: 'mfa_methods' | 'control_group' | undefined;
}

/** One stanza: what is granted or denied beneath a path. */
export interface PathRule extends Conditions {
  pattern: PathPattern;
  capabilities: readonly PolicyCapability[];
  /** Unix seconds from when on the stanza says nothing any more. */
  expiration: number | undefined;
}

export interface Policy {
  /** Everything is allowed. Never the outcome of reading a text. */
  root: boolean;
  rules: readonly PathRule[];
}

/** What the policy named `root` means. */
export const ROOT_POLICY: Policy = { root: true, rules: [] };

/**
 * Resolves the templates of a policy for one caller. A stanza that grants, and whose template has no
 * value, is left out, as is every templated stanza of a caller without an identity. One that takes
 * something away stays with its slots open: that nobody knows where it denies is no permission.
 *
 * @see S-73
 */
export function expandPolicy(policy: Policy, identity: IdentityFacts | undefined): Policy {
  if (!policy.rules.some(({ pattern }) => pattern.selectors.length > 0)) return policy;
  const rules: PathRule[] = [];
  for (const rule of policy.rules) {
    const { selectors } = rule.pattern;
    if (selectors.length === 0) {
      rules.push(rule);
      continue;
    }
    const values = selectors.map((one) => identity && findSelected(identity, one));
    const pattern = fillPattern(rule.pattern, values);
    if (pattern.selectors.length === 0 || takesAway(rule)) rules.push({ ...rule, pattern });
  }
  return { root: policy.root, rules };
}

/** Whether a stanza denies, grants nothing where others may, or grants on a condition. */
export function takesAway(rule: PathRule): boolean {
  const { capabilities } = rule;
  return (
    capabilities.length === 0 ||
    capabilities.includes('deny') ||
    hasConditions(rule) ||
    rule.min_wrapping_ttl !== undefined ||
    rule.max_wrapping_ttl !== undefined ||
    rule.pagination_limit !== undefined ||
    rule.unmet !== undefined
  );
}
