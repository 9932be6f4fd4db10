import type { Steps } from '../core/steps.ts';
import { canonicalPattern, type FormedSegment } from './name-form.ts';
import { mergeParameters } from './parameter-rules.ts';
import { comparePrecedence, compilePattern, slotsOf, widenForm } from './path-pattern.ts';
import {
  NO_PARAMETERS,
  type PathRule,
  type Policy,
  type PolicyCapability,
  takesAway,
} from './policy.ts';
import { countConditions } from './policy-limits.ts';
import { measureRules, measureSlots } from './policy-weight.ts';
import {
  bitOf,
  DENY,
  type Guard,
  type Heads,
  listAll,
  type Rule,
  type RuleTable,
  type WildRule,
  withoutSlash,
} from './rule-table.ts';
import { countCandidates, prepareIndex } from './wild-index.ts';

/**
 * Merges policies into one decision table. Stanzas of the same pattern, in one policy or several,
 * become one rule: capabilities are united and a deny clears them all.
 *
 * @param policies templates expanded (`expandPolicy`); a stanza with an open slot only takes away
 * @param now Unix seconds, to leave out stanzas that have run out
 * @returns also from when on a stanza has run out, so that the table must be compiled anew
 */
export function* compileTable(
  policies: readonly Policy[],
  now: number,
): Steps<{ table: RuleTable; valid_until: number }> {
  const groups = new Map<string, Rule[]>();
  const guards = new Map<string, Rule[]>();
  let valid_until = Number.POSITIVE_INFINITY;
  for (const { rules } of policies) {
    for (const stanza of rules) {
      yield;
      if (stanza.expiration !== undefined) {
        if (stanza.expiration <= now) continue;
        valid_until = Math.min(valid_until, stanza.expiration);
      }
      const { form, selectors } = stanza.pattern;
      const place = selectors.length > 0 ? guards : groups;
      place.getOrInsert(form, []).push(ruleOf(stanza));
      if (reachesBare(stanza)) place.getOrInsert(withoutSlash(form), []).push(ruleOf(stanza));
    }
  }
  const merged = yield* mergeGroups(groups);
  return { table: yield* indexRules(merged, yield* mergeGroups(guards)), valid_until };
}

/**
 * Whether a stanza of `a/` is about `a`, too: one path to whatever is no list. What takes nothing
 * away is not, and nor is what speaks of lists alone.
 */
function reachesBare(stanza: PathRule): boolean {
  if (!stanza.pattern.form.endsWith('/') || !takesAway(stanza)) return false;
  const { capabilities } = stanza;
  return capabilities.length === 0 || capabilities.some((one) => !OF_LISTS.includes(one));
}

const OF_LISTS: readonly PolicyCapability[] = ['list', 'scan'];

function* indexRules(
  merged: ReadonlyMap<string, Rule>,
  guarding: ReadonlyMap<string, Rule>,
): Steps<RuleTable> {
  const exact = new Map<string, Rule>();
  const wild: WildRule[] = [];
  for (const [form, rule] of merged) {
    yield;
    const pattern = compilePattern(form);
    if (pattern) wild.push({ pattern, rule });
    else exact.set(form, rule);
  }
  const guards: Guard[] = [];
  for (const [form, rule] of guarding) {
    yield;
    const pattern = compilePattern(widenForm(form));
    const isWild = compilePattern(form) !== undefined;
    if (pattern) guards.push({ form, slots: slotsOf(form), isWild, pattern, rule });
  }
  const size = Math.ceil((yield* weighRules(merged)) + (yield* weighRules(guarding)));
  const heads = yield* byHeads(wild);
  const isPlain = guards.length === 0 && isShort(heads);
  const bytes =
    (yield* measureRules(merged, exact)) +
    (yield* measureRules(guarding)) +
    (yield* measureSlots(guards));
  return { exact, wild: heads, guards: yield* byHeads(guards), isPlain, bytes, size };
}

/** As many heads and patterns are looked at in some hundredths of a millisecond. */
const FEW_HEADS = 64;
const FEW_PATTERNS = 256;

function isShort({ byHead, lengths }: Heads<WildRule>): boolean {
  if (lengths.length > FEW_HEADS) return false;
  const most = new Map<number, number>();
  for (const [{ length }, bucket] of byHead) {
    most.set(length, Math.max(most.get(length) ?? 0, countCandidates(bucket)));
  }
  return most.values().reduce((sum, each) => sum + each, 0) <= FEW_PATTERNS;
}

/** Characters of a path, and conditions, that take about as much memory as an ordinary rule. */
const CHARACTERS_OF_RULE = 256;
const CONDITIONS_OF_RULE = 8;

function* weighRules(rules: ReadonlyMap<string, Rule>): Steps<number> {
  let weight = 0;
  for (const [form, rule] of rules) {
    yield;
    weight += 1;
    if (form.length > CHARACTERS_OF_RULE) weight += form.length / CHARACTERS_OF_RULE;
    weight += countConditions(rule) / CONDITIONS_OF_RULE;
  }
  return weight;
}

function* byHeads<Of extends WildRule>(rules: readonly Of[]): Steps<Heads<Of>> {
  const groups = new Map<string, Of[]>();
  for (const rule of rules) {
    groups.getOrInsert(rule.pattern.head, []).push(rule);
    yield;
  }
  const byHead = new Map<string, readonly Of[]>();
  for (const [head, bucket] of groups) {
    const sorted = yield* sortRules(bucket);
    yield* prepareIndex(sorted);
    byHead.set(head, sorted);
  }
  const lengths = [...new Set([...byHead.keys()].map((head) => head.length))];
  return { byHead, lengths: lengths.sort((a, b) => b - a) };
}

/** So many are sorted in one step. */
const SORTED_AT_ONCE = 128;

/** The deciding one first. */
function* sortRules<Of extends WildRule>(rules: readonly Of[]): Steps<readonly Of[]> {
  let runs: Of[][] = [];
  for (let at = 0; at < rules.length; at += SORTED_AT_ONCE) {
    runs.push(rules.slice(at, at + SORTED_AT_ONCE).sort(byPrecedence));
    yield;
  }
  while (runs.length > 1) {
    const merged: Of[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(yield* mergeSorted(runs[at] ?? [], runs[at + 1] ?? []));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function byPrecedence(a: WildRule, b: WildRule): number {
  return comparePrecedence(a.pattern, b.pattern);
}

function* mergeSorted<Of extends WildRule>(
  some: readonly Of[],
  others: readonly Of[],
): Steps<Of[]> {
  const merged: Of[] = [];
  let next = 0;
  for (const one of some) {
    for (let other = others[next]; other && byPrecedence(other, one) < 0; other = others[next]) {
      merged.push(other);
      next += 1;
      yield;
    }
    merged.push(one);
    yield;
  }
  return [...merged, ...others.slice(next)];
}

/**
 * The same rules with some names of their paths in their one spelling: the table itself where every
 * name is written so, as most are.
 */
export function* foldNames(table: RuleTable, folding: readonly FormedSegment[]): Steps<RuleTable> {
  const rules = yield* foldRules(listRules(table), folding);
  const guards = yield* foldRules(listGuards(table), folding);
  const isSame = !rules.differs && !guards.differs;
  return isSame
    ? table
    : yield* indexRules(yield* mergeGroups(rules.groups), yield* mergeGroups(guards.groups));
}

/** A rule by the form of its path. */
type Formed = readonly [form: string, rule: Rule];

function* listRules({ exact, wild }: RuleTable): Generator<Formed> {
  yield* exact;
  for (const { pattern, rule } of listAll(wild)) yield [pattern.form, rule];
}

function* listGuards({ guards }: RuleTable): Generator<Formed> {
  for (const { form, rule } of listAll(guards)) yield [form, rule];
}

function* foldRules(
  rules: Iterable<Formed>,
  folding: readonly FormedSegment[],
): Steps<{ groups: Map<string, Rule[]>; differs: boolean }> {
  let differs = false;
  const groups = new Map<string, Rule[]>();
  for (const [form, rule] of rules) {
    yield;
    const canonical = canonicalPattern(form, folding);
    differs ||= canonical !== form;
    groups.getOrInsert(canonical, []).push(rule);
  }
  return { groups, differs };
}

function denial(): Rule {
  return {
    granted: DENY,
    allowed_parameters: NO_PARAMETERS,
    denied_parameters: NO_PARAMETERS,
    required_parameters: [],
    min_wrapping_ttl: undefined,
    max_wrapping_ttl: undefined,
    pagination_limit: undefined,
    unmet: undefined,
  };
}

function ruleOf(stanza: PathRule): Rule {
  if (stanza.capabilities.includes('deny')) return denial();
  let granted = 0;
  for (const capability of stanza.capabilities) granted |= bitOf(capability);
  return {
    granted,
    allowed_parameters: stanza.allowed_parameters,
    denied_parameters: stanza.denied_parameters,
    required_parameters: stanza.required_parameters,
    min_wrapping_ttl: stanza.min_wrapping_ttl,
    max_wrapping_ttl: stanza.max_wrapping_ttl,
    pagination_limit: stanza.pagination_limit,
    unmet: stanza.unmet,
  };
}

function* mergeGroups(groups: ReadonlyMap<string, readonly Rule[]>): Steps<Map<string, Rule>> {
  const merged = new Map<string, Rule>();
  for (const [form, rules] of groups) {
    yield;
    merged.set(form, mergeRules(rules));
  }
  return merged;
}

/** All rules of one pattern at a time: one by one, each would copy what is merged already. */
function mergeRules(rules: readonly Rule[]): Rule {
  const [first = denial(), ...others] = rules;
  if (others.length === 0) return first;
  if (rules.some(({ granted }) => granted & DENY)) return denial();
  const merged: Rule = {
    ...first,
    allowed_parameters: mergeParameters(rules.map((rule) => rule.allowed_parameters)),
    denied_parameters: mergeParameters(rules.map((rule) => rule.denied_parameters)),
    required_parameters: [...new Set(rules.flatMap((rule) => rule.required_parameters))],
  };
  for (const rule of others) {
    merged.granted |= rule.granted;
    merged.min_wrapping_ttl = choose(Math.min, merged.min_wrapping_ttl, rule.min_wrapping_ttl);
    merged.max_wrapping_ttl = choose(Math.max, merged.max_wrapping_ttl, rule.max_wrapping_ttl);
    merged.pagination_limit = choose(Math.max, merged.pagination_limit, rule.pagination_limit);
    merged.unmet ??= rule.unmet;
  }
  return merged;
}

/** A bound that only one of the two has stays: another stanza does not take it away by silence. */
function choose(
  pick: (a: number, b: number) => number,
  a: number | undefined,
  b: number | undefined,
): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : pick(a, b);
}
