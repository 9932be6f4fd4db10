import { doAll, type Steps } from '../core/steps.ts';
import type { Comparisons } from './comparisons.ts';
import {
  comparePrecedence,
  compilePattern,
  fillFromPath,
  type SlottedSegment,
  type WildPattern,
} from './path-pattern.ts';
import { CAPABILITIES, type Conditions, type PolicyCapability } from './policy.ts';
import { findFirst, walkMatching } from './wild-index.ts';

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
export interface Heads<Of extends WildRule> {
  /** By the text before the first wildcard, the deciding one first. */
  readonly byHead: ReadonlyMap<string, readonly Of[]>;
  /** Lengths of those heads, longest first: a wildcard further on takes precedence. */
  readonly lengths: readonly number[];
}

/** All stanzas of one pattern, merged. */
export interface Rule extends Conditions {
  /** Bits by place in {@link CAPABILITIES}. */
  granted: number;
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

/** Every rule with a wildcard, in no order. */
export function listAll<Of extends WildRule>({ byHead }: Heads<Of>): Of[] {
  return [...byHead.values()].flat();
}

/**
 * The one rule that decides about a path: an exact one, or the best of those with wildcards.
 *
 * @param isList a list's path ends in a slash; only exact rules may leave it out. What
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
