import { textBytes } from '../core/kept.ts';
import type { Steps } from '../core/steps.ts';
import type { PathPattern } from './path-pattern.ts';
import type { ParameterConditions, ParameterRules, ParameterValue, PathRule } from './policy.ts';
import type { Guard, Rule } from './rule-table.ts';

/** What a stanza takes besides its path and its conditions, and each character of that path, as measured. */
const STANZA_BYTES = 320;
const CHARACTER_BYTES = 2;
/** What fills a slot, and where it was written. */
const SELECTOR_BYTES = 192;
/** A name or a value, besides its characters. */
const CONDITION_BYTES = 64;

/** About how many bytes stanzas take that were read. */
export function weighStanzas(rules: readonly PathRule[]): number {
  let bytes = 0;
  for (const rule of rules) {
    bytes += STANZA_BYTES + weighPattern(rule.pattern) + weighConditions(rule);
  }
  return bytes;
}

/** With templates it was written at any length, of which the form has a character for each. */
function weighPattern({ form, text, selectors }: PathPattern): number {
  const bytes = CHARACTER_BYTES * form.length;
  if (selectors.length === 0) return bytes;
  return bytes + textBytes(text) + SELECTOR_BYTES * selectors.length;
}

/** About how many bytes the conditions of a stanza take: their texts may be most of a policy. */
function weighConditions(rule: ParameterConditions): number {
  const { allowed_parameters, denied_parameters, required_parameters } = rule;
  return (
    weighParameters(allowed_parameters) +
    weighParameters(denied_parameters) +
    weighValues(required_parameters)
  );
}

function weighParameters(rules: ParameterRules): number {
  let bytes = 0;
  for (const [name, values] of rules) {
    bytes += CONDITION_BYTES + textBytes(name) + weighValues(values);
  }
  return bytes;
}

function weighValues(values: readonly ParameterValue[]): number {
  let bytes = CONDITION_BYTES * values.length;
  for (const value of values) {
    if (typeof value === 'string') bytes += textBytes(value);
    else if (typeof value === 'object' && value !== null) bytes += weighValues(value);
  }
  return bytes;
}

/**
 * What a merged rule takes besides its conditions: one that is found by its path, one with wildcards, which is
 * indexed, and each character, segment and slot of its path; as measured.
 */
const RULE_BYTES = { exact: 160, wild: 576, character: 2, segment: 8, slot: 48 } as const;

/**
 * About how many bytes merged rules take.
 *
 * @param exact those of them that have no wildcard
 */
export function* measureRules(
  rules: ReadonlyMap<string, Rule>,
  exact?: ReadonlyMap<string, Rule>,
): Steps<number> {
  let bytes = 0;
  for (const [form, rule] of rules) {
    yield;
    bytes += exact?.has(form) ? RULE_BYTES.exact : RULE_BYTES.wild;
    bytes += RULE_BYTES.character * form.length + weighConditions(rule);
    for (let at = form.indexOf('/'); at >= 0; at = form.indexOf('/', at + 1))
      bytes += RULE_BYTES.segment;
  }
  return bytes;
}

/** And the slots of those that nothing fills. */
export function* measureSlots(guards: readonly Guard[]): Steps<number> {
  let bytes = 0;
  for (const { slots } of guards) {
    yield;
    for (const { texts } of slots) bytes += RULE_BYTES.slot * texts.length;
  }
  return bytes;
}
