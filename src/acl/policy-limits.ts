import { type Failure, invalid } from '../core/failure.ts';
import type { ParameterConditions, ParameterRules, ParameterValue, Policy } from './policy.ts';

/**
 * What policies may come to. They are written by people and by what generates a few stanzas for a
 * team or a service; the longest known have some hundreds. Reading and merging this much takes a
 * few hundredths of a second, during which nobody else is served.
 */
export const POLICY_LIMITS = {
  /** Characters of one text. */
  text: 262_144,
  /** Stanzas of one policy. */
  stanzas: 2000,
  /** Names of parameters, and values of all of them, in one stanza. */
  conditions_of_stanza: 1000,
  /** The same in one policy. */
  conditions: 5000,
} as const;

/** What all policies of one token may come to, those of its entity and groups included. */
export const TOKEN_LIMITS = {
  /** Bytes of all texts. */
  text: 1_048_576,
  stanzas: 10_000,
  conditions: 10_000,
} as const;

/** @throws Failure `invalid` for a text that is longer than a policy may be */
export function requireModestText(text: string): void {
  const { length } = text;
  if (length > POLICY_LIMITS.text) throw refuse('characters', length, POLICY_LIMITS.text);
}

/** @throws Failure `invalid` for more stanzas or conditions than a policy may have */
export function requireModestPolicy({ rules }: Policy): void {
  const { stanzas, conditions, conditions_of_stanza } = POLICY_LIMITS;
  if (rules.length > stanzas) throw refuse('paths', rules.length, stanzas);
  let all = 0;
  for (const rule of rules) {
    const own = countConditions(rule);
    if (own > conditions_of_stanza) {
      const what = `parameters and values at path ${JSON.stringify(rule.pattern.text.slice(0, 100))}`;
      throw refuse(what, own, conditions_of_stanza);
    }
    all += own;
  }
  if (all > conditions) throw refuse('parameters and values', all, conditions);
}

function refuse(what: string, found: number, most: number): Failure {
  return invalid(`policy: at most ${most} ${what}, this one has ${found}`);
}

/** Says why the texts of a token's policies are not even read; undefined: they are. */
export function judgeTokenTexts(bytes: number): string | undefined {
  return judge('bytes', bytes, TOKEN_LIMITS.text);
}

/** Says why a token's policies grant nothing at all; undefined: they are as many as may be. */
export function judgeTokenRules(policies: readonly Policy[]): string | undefined {
  let stanzas = 0;
  let conditions = 0;
  for (const { rules } of policies) {
    stanzas += rules.length;
    for (const rule of rules) conditions += countConditions(rule);
  }
  return (
    judge('paths', stanzas, TOKEN_LIMITS.stanzas) ??
    judge('parameters and values', conditions, TOKEN_LIMITS.conditions)
  );
}

/**
 * What the policies of a token, and of those that it was made from, may be worth together, as
 * ordinary rules go. Those that differ each judge every request of it.
 */
const MOST_WITH_BOUNDS = 16_000;

/** Says why a token that was made from others is granted nothing at all; undefined: it is granted. */
export function judgeBoundRules(size: number): string | undefined {
  return size > MOST_WITH_BOUNDS
    ? `permission denied: the policies of the token and of those it was made from are worth ${size} paths in all, at most ${MOST_WITH_BOUNDS} are read`
    : undefined;
}

function judge(what: string, found: number, most: number): string | undefined {
  return found > most
    ? `permission denied: the token's policies have ${found} ${what} in all, at most ${most} are read`
    : undefined;
}

/** Names of parameters, and values of all of them. */
export function countConditions(rule: ParameterConditions): number {
  const { allowed_parameters, denied_parameters, required_parameters } = rule;
  return (
    countRules(allowed_parameters) + countRules(denied_parameters) + required_parameters.length
  );
}

function countRules(rules: ParameterRules): number {
  let count = rules.size;
  for (const values of rules.values()) count += countValues(values);
  return count;
}

/** A list counts as what is in it, too. */
function countValues(values: readonly ParameterValue[]): number {
  let count = values.length;
  for (const value of values) {
    if (typeof value === 'object' && value !== null) count += countValues(value);
  }
  return count;
}
