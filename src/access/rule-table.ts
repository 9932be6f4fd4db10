import { doAll, type Steps } from '../core/steps.ts';
import { canonicalPattern, type FormedSegment } from './name-form.ts';
import { mergeParameters } from './parameter-rules.ts';
import {
  comparePrecedence,
  compilePattern,
  fillFromPath,
  type SlottedSegment,
  slotsOf,
  type WildPattern,
  widenForm,
} from './path-pattern.ts';
import {
  CAPABILITIES,
  type ParameterRules,
  type PathRule,
  type Policy,
  type PolicyCapability,
  takesAway,
} from './policy.ts';
import { countConditions } from './policy-limits.ts';
import type { Comparisons } from './value-set.ts';
import { countCandidates, findFirst, prepareIndex, walkMatching } from './wild-index.ts';

/** One set of policies, merged. */
export interface RuleTable {
  readonly exact: ReadonlyMap<string, Rule>;
  readonly wild: Heads<WildRule>;
  /** What takes something away at a place that nobody knows; mostly nothing. */
  readonly guards: Heads<Guard>;
  /** Any path is judged by few of its rules, and none of them is a guard. */
  readonly isPlain: boolean;
  /** About how many bytes it takes. */
  readonly bytes: number;
  /** About how many ordinary rules it is worth in memory: a long path or many conditions are more than one. */
  readonly size: number;
}

/** Rules with wildcards. */
interface Heads<Of extends WildRule> {
  /** By the text before the first wildcard, the deciding one first. */
  readonly byHead: ReadonlyMap<string, readonly Of[]>;
  /** Lengths of those heads, longest first: a wildcard further on takes precedence. */
  readonly lengths: readonly number[];
}

/** All stanzas of one pattern, merged. */
export interface Rule {
  /** Bits by place in {@link CAPABILITIES}. */
  granted: number;
  allowed_parameters: ParameterRules;
  denied_parameters: ParameterRules;
  required_parameters: readonly string[];
  min_wrapping_ttl: number | undefined;
  max_wrapping_ttl: number | undefined;
  pagination_limit: number | undefined;
  unmet: PathRule['unmet'];
}

export interface WildRule {
  pattern: WildPattern;
  rule: Rule;
}

/** A rule whose path has slots that nothing fills: it grants nothing, and must be obeyed. */
export interface Guard extends WildRule {
  /** With its slots; the pattern matches whatever could fill them. */
  form: string;
  slots: readonly SlottedSegment[];
  /** Has wildcards however its slots are filled. */
  isWild: boolean;
}

export function bitOf(capability: PolicyCapability): number {
  return 1 << CAPABILITIES.indexOf(capability);
}

export const DENY = bitOf('deny');

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
      addTo(place, form, ruleOf(stanza));
      if (reachesBare(stanza)) addTo(place, withoutSlash(form), ruleOf(stanza));
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

function addTo<Of>(groups: Map<string, Of[]>, key: string, one: Of): void {
  const group = groups.get(key);
  if (group) group.push(one);
  else groups.set(key, [one]);
}

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
  const bytes = (yield* measureRules(merged)) + (yield* measureRules(guarding));
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

/** What a rule takes besides its path, each character of that, each segment, and each condition, as measured. */
const BYTES = { rule: 256, character: 2, segment: 8, condition: 64 } as const;

function* measureRules(rules: ReadonlyMap<string, Rule>): Steps<number> {
  let bytes = 0;
  for (const [form, rule] of rules) {
    yield;
    bytes += BYTES.rule + BYTES.character * form.length + BYTES.condition * countConditions(rule);
    for (let at = form.indexOf('/'); at >= 0; at = form.indexOf('/', at + 1))
      bytes += BYTES.segment;
  }
  return bytes;
}

function* byHeads<Of extends WildRule>(rules: readonly Of[]): Steps<Heads<Of>> {
  const groups = new Map<string, Of[]>();
  for (const rule of rules) {
    addTo(groups, rule.pattern.head, rule);
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

/** Every rule with a wildcard, in no order. */
export function listAll<Of extends WildRule>({ byHead }: Heads<Of>): Of[] {
  return [...byHead.values()].flat();
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
    addTo(groups, canonical, rule);
  }
  return { groups, differs };
}

const NOTHING: ParameterRules = new Map();

function denial(): Rule {
  return {
    granted: DENY,
    allowed_parameters: NOTHING,
    denied_parameters: NOTHING,
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

/**
 * The one rule that decides about a path: an exact one, or the best of those with wildcards.
 *
 * @param isList a list's path ends in a slash; only exact rules may leave it out (contract 5.3). What
 *   denies the path without it denies its list, too, unless a rule of higher rank is about the list
 * @param effort what that takes is taken from it
 */
export function* findRule(
  table: RuleTable,
  path: string,
  isList: boolean,
  effort?: Comparisons,
): Steps<Rule | undefined> {
  if (!isList) return table.exact.get(path) ?? (yield* findWild(table, path, effort))?.rule;
  const bare = withoutSlash(path);
  const exact = table.exact.get(`${bare}/`) ?? table.exact.get(bare);
  if (exact) return exact;
  const lists = yield* findWild(table, `${bare}/`, effort);
  const whole = yield* findWild(table, bare, effort);
  if (!lists || !whole || !(whole.rule.granted & DENY)) return lists?.rule;
  return comparePrecedence(whole.pattern, lists.pattern) <= 0 ? whole.rule : lists.rule;
}

/** The same at once, of a table that is plain. */
export function findRuleAtOnce(
  table: RuleTable,
  path: string,
  isList: boolean,
  effort: Comparisons,
): Rule | undefined {
  return (
    (isList ? undefined : table.exact.get(path)) ?? doAll(findRule(table, path, isList, effort))
  );
}

function* findWild(
  table: RuleTable,
  path: string,
  effort?: Comparisons,
): Steps<WildRule | undefined> {
  const { byHead, lengths } = table.wild;
  if (effort) effort.left -= weighHeads(lengths, path);
  for (const length of lengths) {
    if (length > path.length) continue;
    const bucket = byHead.get(path.slice(0, length));
    const found = bucket && (yield* findFirst(bucket, path, effort));
    if (found) return found;
    yield;
  }
  return undefined;
}

/** What looking for the beginnings of a path takes, as comparisons go: those that are longer cost next to nothing. */
export function weighHeads(lengths: readonly number[], path: string): number {
  const most = Math.min(lengths.length, path.length + 1);
  return 1 + (lengths.length >> 4) + most * (1 + (path.length >> 7));
}

export function withoutSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

/** What decides about a path, as far as its rank goes. */
type Deciding = WildPattern | 'exact' | undefined;

/**
 * The guards that would be obeyed if they were written for this path, and undefined for each that is
 * looked at and would not be: there may be thousands, and whoever looks may rest between two.
 *
 * @param isList as {@link findListRule} has it: of guards with wildcards only those that deny reach
 *   from a path to its list
 */
export function* walkGuards(
  table: RuleTable,
  path: string,
  isList: boolean,
  effort?: Comparisons,
): Generator<Rule | undefined, void> {
  if (!isList) {
    yield* rulesAt(table, path, yield* decidingAt(table, path, effort), effort);
    return;
  }
  const bare = withoutSlash(path);
  const slashed = `${bare}/`;
  if (table.exact.has(slashed)) {
    yield* rulesAt(table, slashed, 'exact', effort);
    return;
  }
  const deciding = table.exact.has(bare) ? 'exact' : yield* decidingAt(table, slashed, effort);
  yield* rulesAt(table, slashed, deciding, effort);
  for (const whole of guardsAt(table, bare, deciding, effort)) {
    yield whole && (whole.exact || whole.rule.granted & DENY) ? whole.rule : undefined;
  }
}

function* decidingAt(table: RuleTable, path: string, effort?: Comparisons): Steps<Deciding> {
  return table.exact.has(path) ? 'exact' : (yield* findWild(table, path, effort))?.pattern;
}

interface Obeyed {
  rule: Rule;
  /** Written for this path it would have no wildcard. */
  exact: boolean;
}

/** Comparing what is written around the slots of a guard takes as long as so many comparisons. */
const SLOTS = 4;
/** And so does filling them in, and reading what comes of it. */
const FILLING = 60;

function* rulesAt(
  table: RuleTable,
  path: string,
  deciding: Deciding,
  effort?: Comparisons,
): Generator<Rule | undefined, void> {
  for (const guard of guardsAt(table, path, deciding, effort)) yield guard?.rule;
}

function* guardsAt(
  { guards }: RuleTable,
  path: string,
  deciding: Deciding,
  effort?: Comparisons,
): Generator<Obeyed | undefined, void> {
  if (effort) effort.left -= 2 * weighHeads(guards.lengths, path);
  const segments = path.split('/');
  for (const length of guards.lengths) {
    const bucket = length <= path.length && guards.byHead.get(path.slice(0, length));
    if (!bucket) continue;
    for (const guard of walkMatching(bucket, path, effort)) {
      if (!guard) {
        yield undefined;
        continue;
      }
      if (effort) effort.left -= SLOTS + (path.length >> 4);
      if (deciding === 'exact' && guard.isWild) {
        yield undefined;
        continue;
      }
      const filled = fillFromPath(guard.form, guard.slots, segments);
      if (filled !== undefined && effort) effort.left -= FILLING + (filled.length >> 5);
      yield filled === undefined ? undefined : obeyedAs(guard, filled, deciding);
    }
  }
}

function obeyedAs({ rule }: Guard, filled: string, deciding: Deciding): Obeyed | undefined {
  const pattern = compilePattern(filled);
  if (!pattern) return { rule, exact: true };
  if (deciding === 'exact' || (deciding && comparePrecedence(pattern, deciding) > 0)) {
    return undefined;
  }
  return { rule, exact: false };
}
