import { WorkedOut } from '../core/fairness/worked-out.ts';
import { textBytes } from '../core/kept.ts';
import { memoizeWeak } from '../core/memoize-weak.ts';
import type { Acl } from './acl.ts';
import type { Comparisons } from './comparisons.ts';
import { SOME, walkGrantedAt } from './grants.ts';
import { ANY_REST, ANY_SEGMENT, type WildPattern } from './path-pattern.ts';
import {
  DENY,
  type Rule,
  type RuleTable,
  type WildRule,
  weighHeads,
  withoutSlash,
} from './rule-table.ts';
import type { RuleWalk } from './rule-walk.ts';

/**
 * Whether a caller may do anything at all beneath a path: it decides which mounts are shown.
 *
 * Each rule that grants something is tried with sample paths of its own beneath the prefix, which
 * a rule of higher precedence may take away again.
 *
 * @param prefix with its last slash: `pki/`, `auth/userpass/`
 * @param walk once it is spent nothing is shown that is not known yet
 */
export async function hasAccessBeneath(acl: Acl, prefix: string, walk: RuleWalk): Promise<boolean> {
  if (acl.root) return true;
  const answers = answersOf(acl);
  const known = answers.value?.get(prefix);
  if (known !== undefined) return known;
  const answer = await findAccessBeneath(acl, prefix, walk);
  if (walk.isSpent) return answer;
  const kept = answers.value ?? answers.keep(new Map(), ANSWERS_BYTES);
  kept.set(prefix, answer);
  answers.grow(ANSWER_BYTES + textBytes(prefix));
  return answer;
}

/**
 * Answers by prefix: the rules are looked at for each of them. There are as many as mounts and endpoints with a
 * name in their path, thousands, and as many sets of policies as anybody likes.
 */
const answersOf = memoizeWeak((_acl: Acl) => new WorkedOut<Map<string, boolean>>());

const ANSWERS_BYTES = 256;
const ANSWER_BYTES = 96;

async function findAccessBeneath(acl: Acl, prefix: string, walk: RuleWalk): Promise<boolean> {
  // Tables of tokens that were made one from the other mostly have the same rules.
  const tried = new Set<string>();
  for (const table of acl.tables) {
    for (const path of samplesBeneath(table, withoutSlash(prefix), walk.effort)) {
      if (walk.isSpent) return false;
      if (walk.isDue) await walk.rest();
      if (path === undefined || tried.has(path)) continue;
      tried.add(path);
      if ((await walkGrantedAt(acl, path, walk)) !== 0) return true;
    }
  }
  return false;
}

/** Paths beneath one at which rules grant something; undefined for a rule that has none. */
function* samplesBeneath(
  table: RuleTable,
  bare: string,
  effort: Comparisons,
): Generator<string | undefined, void> {
  const prefix = `${bare}/`;
  const { paths, heads } = orderOf(table, effort);
  effort.left -= TABLE + weighHeads(table.wild.lengths, prefix);
  yield undefined;
  if (grants(table.exact.get(bare))) yield bare;
  for (const path of beginningWith(paths, prefix)) {
    effort.left -= RULE;
    yield grants(table.exact.get(path)) ? path : undefined;
  }
  const segments = bare.split('/');
  for (const { pattern, rule } of wildBeneath(table, heads, prefix)) {
    effort.left -= SAMPLES + (pattern.form.length >> 4);
    if (grants(rule)) yield* samplePaths(pattern, segments);
    yield undefined;
  }
}

/** As comparisons go: asking a table, looking at a rule, making sample paths of a pattern. */
const TABLE = 16;
const RULE = 1;
const SAMPLES = 6;

/** Only rules whose text before the first wildcard begins like the prefix, or is how that begins, match beneath it. */
function* wildBeneath(
  { wild }: RuleTable,
  heads: readonly string[],
  prefix: string,
): Generator<WildRule, void> {
  for (const length of wild.lengths) {
    if (length <= prefix.length) yield* wild.byHead.get(prefix.slice(0, length)) ?? [];
  }
  for (const head of beginningWith(heads, prefix)) {
    if (head.length > prefix.length) yield* wild.byHead.get(head) ?? [];
  }
}

interface Order {
  paths: readonly string[];
  heads: readonly string[];
}

/** Exact paths, and heads of the others, in order: of thousands few are beneath one mount. */
const orders = new WeakMap<RuleTable, Order>();

function orderOf(table: RuleTable, effort: Comparisons): Order {
  return orders.getOrInsertComputed(table, ({ exact, wild }) => {
    effort.left -= SORTING * (exact.size + wild.byHead.size);
    return { paths: [...exact.keys()].sort(), heads: [...wild.byHead.keys()].sort() };
  });
}

const SORTING = 5;

/** Texts of a sorted list with a beginning. */
function* beginningWith(sorted: readonly string[], start: string): Generator<string, void> {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') < start) low = middle + 1;
    else high = middle;
  }
  for (let at = low; at < sorted.length; at++) {
    const text = sorted[at];
    if (!text?.startsWith(start)) return;
    yield text;
  }
}

function grants(rule: Rule | undefined): boolean {
  return rule !== undefined && rule.granted !== 0 && !(rule.granted & DENY);
}

/** Paths beneath `prefix` that the pattern matches; none if it cannot match any. */
function samplePaths(pattern: WildPattern, prefix: readonly string[]): string[] {
  const body = pattern.open ? pattern.form.slice(0, -ANY_REST.length) : pattern.form;
  const wanted = body.split('/');
  const path: string[] = [];
  for (let index = 0; index < Math.max(wanted.length, prefix.length); index++) {
    const want = wanted[index];
    const have = prefix[index];
    if (want === undefined) return [];
    if (have === undefined) {
      path.push(want === ANY_SEGMENT ? SOME : want);
    } else if (pattern.open && index === wanted.length - 1) {
      if (!have.startsWith(want)) return [];
      return samplesOfRest(`${prefix.join('/')}/`);
    } else if (want !== ANY_SEGMENT && want !== have) {
      return [];
    } else {
      path.push(have);
    }
  }
  if (pattern.open) return samplesOfRest(path.join('/'));
  return wanted.length > prefix.length ? [path.join('/')] : [];
}

/** Deeper than rules without "any rest" go, so that such a rule alone cannot hide what is granted. */
const DEEP = Array.from({ length: 64 }, () => SOME).join('/');

function samplesOfRest(start: string): string[] {
  return [start, start + SOME, start + DEEP];
}
