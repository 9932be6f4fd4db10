import { type Failure, invalid } from '../core/failure.ts';
import type { Steps } from '../core/steps.ts';
import type { Acl } from './acl.ts';
import type { Comparisons } from './comparisons.ts';
import { canonicalNames, type FormedSegment } from './name-form.ts';
import { ANY_REST, ANY_SEGMENT, type WildPattern } from './path-pattern.ts';
import { CAPABILITIES } from './policy.ts';
import { DENY, findRule, listAll, type Rule, type RuleTable, walkGuards } from './rule-table.ts';
import { RuleWalk } from './rule-walk.ts';
import { spellTables } from './spelling.ts';

/**
 * What a path's rule grants, as `sys/capabilities` words it: sorted names, `["root"]` for a root
 * token, `["deny"]` for nothing.
 *
 * @param path as the client wrote it; a leading slash is taken off
 * @param formed counted without that slash
 */
export async function listCapabilities(
  acl: Acl,
  path: string,
  walk: RuleWalk,
  formed: readonly FormedSegment[] = [],
): Promise<string[]> {
  if (acl.root) return ['root'];
  const written = path.startsWith('/') ? path.slice(1) : path;
  const tables = await spellTables(acl.tables, { path: written, formed }, walk.effort);
  return wordsOf(await walkGranted(tables, canonicalNames(written, formed), walk));
}

/** Whether what is reserved to sudo may be done at a path; not where that takes too long to know. */
export async function maySudo(acl: Acl, path: string): Promise<boolean> {
  return acl.root || (await listCapabilities(acl, path, new RuleWalk())).includes('sudo');
}

/**
 * Bits of what all tables grant at a path, a list's with its slash; 0 for nothing, or a denial. Whoever
 * asks may rest at every step: a path may be judged by thousands of guards.
 */
function* findGranted(
  tables: readonly RuleTable[],
  named: string,
  effort: Comparisons,
): Steps<number> {
  let granted = -1;
  for (const table of tables) {
    effort.left -= TABLE;
    yield;
    granted &= grantOf(yield* findDeciding(table, named, effort));
    if (granted === 0) return 0;
    if (table.guards.lengths.length === 0) continue;
    for (const guard of walkGuards(table, named, named.endsWith('/'), effort)) {
      if (guard) granted &= grantOf(guard);
      if (granted === 0) return 0;
      yield;
    }
  }
  return granted;
}

/** Asking a table takes as long as so many comparisons, whatever it has. */
const TABLE = 5;

function findDeciding(
  table: RuleTable,
  path: string,
  effort: Comparisons,
): Steps<Rule | undefined> {
  return findRule(table, path, path.endsWith('/'), effort);
}

function grantOf(rule: Rule | undefined): number {
  return rule && !(rule.granted & DENY) ? rule.granted : 0;
}

/** The same in turns; 0 as well once the walk has come to its bound. */
async function walkGranted(
  tables: readonly RuleTable[],
  named: string,
  walk: RuleWalk,
): Promise<number> {
  return (await walkSteps(findGranted(tables, named, walk.effort), walk)) ?? 0;
}

/** Undefined once the walk has come to its bound. */
async function walkSteps<Of>(steps: Steps<Of>, walk: RuleWalk): Promise<Of | undefined> {
  let step = steps.next();
  while (!step.done) {
    if (walk.isSpent) return undefined;
    if (walk.isDue) await walk.rest();
    step = steps.next();
  }
  return walk.isSpent ? undefined : step.value;
}

/** Of a path without names of more than one spelling. */
export function walkGrantedAt(acl: Acl, path: string, walk: RuleWalk): Promise<number> {
  return walkGranted(acl.tables, path, walk);
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
    const rule = await walkSteps(findDeciding(own, path, walk.effort), walk);
    const isSpokenOf = rule !== undefined;
    const granted = isSpokenOf ? await walkGrantedAt(acl, path, walk) : undefined;
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
      await show(wild, pattern.text, samplePath(pattern), rule);
    }
  }
  if (walk.isSpent) throw tooMany();
  return { exact, wild };
}

function tooMany(): Failure {
  return invalid(
    "listing what the token's policies grant takes too long: ask sys/capabilities-self about single paths",
  );
}

const samplePath = ({ form }: WildPattern): string =>
  form.replaceAll(ANY_SEGMENT, SOME).replace(ANY_REST, SOME);

/** A segment that no rule can name, so that only wildcards match it. */
export const SOME = '\u0004';
