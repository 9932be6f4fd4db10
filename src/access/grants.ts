import { Failure } from '../core/failure.ts';
import { type Acl, canonicalTable } from './acl.ts';
import { canonicalNames, type FormedSegment } from './name-form.ts';
import { ANY_REST, ANY_SEGMENT, type WildPattern } from './path-pattern.ts';
import { CAPABILITIES } from './policy.ts';
import {
  DENY,
  findListRule,
  findRule,
  listAll,
  type Rule,
  type RuleTable,
  walkGuards,
} from './rule-table.ts';
import type { RuleWalk } from './rule-walk.ts';
import type { Comparisons } from './value-set.ts';

/** A table for a path, which may have names of more than one spelling. */
type TableFor = (table: RuleTable, effort: Comparisons | undefined) => RuleTable;

const asWritten: TableFor = (table) => table;

/**
 * What a path's rule grants, as `sys/capabilities` words it: sorted names, `["root"]` for a root
 * token, `["deny"]` for nothing.
 *
 * @param path as the client wrote it; a leading slash is taken off
 * @param formed counted without that slash
 */
export function listCapabilities(
  acl: Acl,
  path: string,
  formed: readonly FormedSegment[] = [],
): string[] {
  if (acl.root) return ['root'];
  const { named, tableFor } = spelling(path, formed);
  const steps = findGranted(acl, named, tableFor);
  let step = steps.next();
  while (!step.done) step = steps.next();
  return wordsOf(step.value);
}

/** The same, one of many that a request asks about: `["deny"]` once that has come to its bound. */
export async function walkCapabilities(
  acl: Acl,
  path: string,
  walk: RuleWalk,
  formed: readonly FormedSegment[] = [],
): Promise<string[]> {
  if (acl.root) return ['root'];
  const { named, tableFor } = spelling(path, formed);
  return wordsOf(await walkGranted(acl, named, walk, tableFor));
}

function spelling(
  path: string,
  formed: readonly FormedSegment[],
): { named: string; tableFor: TableFor } {
  const bare = path.startsWith('/') ? path.slice(1) : path;
  const tableFor: TableFor =
    formed.length === 0
      ? asWritten
      : (table, effort) => canonicalTable(table, bare, formed, effort);
  return { named: canonicalNames(bare, formed), tableFor };
}

/**
 * Bits of what all tables grant at a path, a list's with its slash; 0 for nothing, or a denial. Whoever
 * asks may rest at every step: a path may be judged by thousands of guards.
 */
function* findGranted(
  { tables }: Acl,
  path: string,
  tableFor: TableFor,
  effort?: Comparisons,
): Generator<void, number> {
  let granted = -1;
  for (const written of tables) {
    const table = tableFor(written, effort);
    if (effort) effort.left -= TABLE;
    yield;
    granted &= grantOf(findDeciding(table, path, effort));
    if (granted === 0) return 0;
    if (table.guards.lengths.length === 0) continue;
    for (const guard of walkGuards(table, path, path.endsWith('/'), effort)) {
      if (guard) granted &= grantOf(guard);
      if (granted === 0) return 0;
      yield;
    }
  }
  return granted;
}

/** Asking a table takes as long as so many comparisons, whatever it has. */
const TABLE = 5;

function findDeciding(table: RuleTable, path: string, effort?: Comparisons): Rule | undefined {
  return path.endsWith('/') ? findListRule(table, path, effort) : findRule(table, path, effort);
}

function grantOf(rule: Rule | undefined): number {
  return rule && !(rule.granted & DENY) ? rule.granted : 0;
}

/** The same in turns; 0 as well once the walk has come to its bound. */
export async function walkGranted(
  acl: Acl,
  path: string,
  walk: RuleWalk,
  tableFor = asWritten,
): Promise<number> {
  const steps = findGranted(acl, path, tableFor, walk.effort);
  let step = steps.next();
  while (!step.done) {
    if (walk.isSpent) return 0;
    if (walk.isDue) await walk.rest();
    step = steps.next();
  }
  return walk.isSpent ? 0 : step.value;
}

function wordsOf(granted: number): string[] {
  if (granted === 0) return ['deny'];
  return CAPABILITIES.filter((_name, place) => granted & (1 << place));
}

/** Words of what is granted, by path or by pattern. */
type Grants = Map<string, string[]>;

/**
 * Every rule with what it grants, in words; the patterns of those with wildcards as written. Where
 * more than one rule decides, a pattern is shown with what is granted at a path that no other is
 * about.
 *
 * @throws Failure `invalid` where that takes too long: a grant without the denial in it would mislead
 */
export async function listGrants(
  acl: Acl,
  walk: RuleWalk,
): Promise<{ exact: Grants; wild: Grants }> {
  const [own] = acl.tables;
  const isAlone = acl.tables.length === 1 && own.guards.lengths.length === 0;
  const exact: Grants = new Map();
  const wild: Grants = new Map();
  // Tokens that were made one from the other mostly have the same rules.
  const known = new Map<string, number | undefined>();
  const grantedAt = async (path: string): Promise<number | undefined> => {
    if (known.has(path)) return known.get(path);
    // What the caller's own policies say nothing of is granted by nothing else.
    const isSpokenOf = findDeciding(own, path, walk.effort) !== undefined;
    const granted = isSpokenOf ? await walkGranted(acl, path, walk) : undefined;
    known.set(path, granted);
    return granted;
  };
  const show = async (into: Grants, shown: string, path: string, rule: Rule): Promise<void> => {
    walk.effort.left -= TABLE;
    if (isAlone) {
      into.set(shown, rule.granted === 0 ? [] : wordsOf(rule.granted));
      return;
    }
    const granted = await grantedAt(path);
    if (granted !== undefined) into.set(shown, wordsOf(granted));
  };
  for (const table of acl.tables) {
    for (const [path, rule] of table.exact) {
      if (walk.isSpent) throw tooMany();
      if (walk.isDue) await walk.rest();
      await show(exact, path, path, rule);
    }
    for (const { pattern, rule } of [...listAll(table.wild), ...listAll(table.guards)]) {
      if (walk.isSpent) throw tooMany();
      if (walk.isDue) await walk.rest();
      await show(wild, patternText(pattern), samplePath(pattern), rule);
    }
  }
  if (walk.isSpent) throw tooMany();
  return { exact, wild };
}

function tooMany(): Failure {
  return new Failure(
    'invalid',
    "listing what the token's policies grant takes too long: ask sys/capabilities-self about single paths",
  );
}

function patternText({ form, open }: WildPattern): string {
  const body = open ? form.slice(0, -ANY_REST.length) : form;
  return `${body.replaceAll(ANY_SEGMENT, '+')}${open ? '*' : ''}`;
}

function samplePath({ form, open }: WildPattern): string {
  const body = open ? form.slice(0, -ANY_REST.length) + SOME : form;
  return body.replaceAll(ANY_SEGMENT, SOME);
}

/** A segment that no rule can name, so that only wildcards match it. */
export const SOME = '\u0004';
