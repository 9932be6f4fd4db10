import { afterOthers } from '../core/fairness/breath.ts';
import { FewBySize } from '../core/fairness/few-in-turn.ts';
import { atMostOf, LastOf } from '../core/kept.ts';
import { memoizeWeak } from '../core/memoize-weak.ts';
import { ROOMS } from '../core/rooms.ts';
import { doAll, doInTurns, type Soon } from '../core/steps.ts';
import type { Comparisons } from './comparisons.ts';
import { foldingNames, type NamedPath } from './name-form.ts';
import { foldNames } from './rule-merging.ts';
import type { RuleTable } from './rule-table.ts';

/** Undefined for a table in which every name is written so, as in most. */
interface Spelt {
  table: RuleTable | undefined;
}

/** As many rules as a token may have take most of the room. */
const LARGEST_PART = 9 / 10;

const kept = new LastOf<Spelt>(
  ROOMS.spelt,
  ({ table }) => atMostOf(ROOMS.spelt, table?.bytes ?? 0),
  LARGEST_PART,
);
const underWay = new Map<string, Promise<RuleTable>>();

/** Tables that are spelt anew at the same time. */
const places = new FewBySize();
const LARGE_BYTES = 1 << 20;
/** Of so many rules it is done in less than a millisecond. */
const FEW_RULES = 100;

/** Reading a rule anew takes as long as so many comparisons. */
const FOLDING = 10;

let lastId = 0;
const idOf = memoizeWeak((_table: RuleTable) => ++lastId);

/**
 * The same rules with names in their one spelling where a path has names of more than one: a rule
 * that is written `users/Boss` speaks of `users/boss`, whichever way it is asked for.
 *
 * @param effort what making them takes is taken from it; they are kept
 */
function spellTable(
  table: RuleTable,
  { path, formed }: NamedPath,
  effort: Comparisons,
): Soon<RuleTable> {
  if (!formed || formed.length === 0) return table;
  const folding = foldingNames(path, formed);
  if (folding.length === 0) return table;
  const key = `${idOf(table)} ${folding.map(({ at }) => at).join()}`;
  const known = kept.find(key);
  if (known) return known.table ?? table;
  effort.left -= FOLDING * table.size;
  // Whoever counts the effort goes by that, whatever is judged.
  if (effort.left < 0) return table;
  const keep = (made: RuleTable): RuleTable => {
    kept.set(key, { table: made === table ? undefined : made });
    return made;
  };
  if (table.size <= FEW_RULES) return keep(doAll(foldNames(table, folding)));
  const begun = underWay.get(key);
  if (begun) return afterOthers(begun);
  const few = places.of(table.bytes > LARGE_BYTES);
  const making = few
    .run(() => doInTurns(foldNames(table, folding)))
    .then(keep)
    .finally(() => underWay.delete(key));
  underWay.set(key, making);
  return making;
}

/** All tables of one who asks; those that are spelt already at once. */
export function spellTables(
  tables: readonly RuleTable[],
  asked: NamedPath,
  effort: Comparisons,
): Soon<readonly RuleTable[]> {
  if (!asked.formed || asked.formed.length === 0) return tables;
  const spelt: RuleTable[] = [];
  for (const [at, table] of tables.entries()) {
    const one = spellTable(table, asked, effort);
    if (one instanceof Promise) return spellOthers(spelt, one, tables.slice(at + 1), asked, effort);
    spelt.push(one);
  }
  return spelt;
}

async function spellOthers(
  before: readonly RuleTable[],
  one: Promise<RuleTable>,
  others: readonly RuleTable[],
  asked: NamedPath,
  effort: Comparisons,
): Promise<readonly RuleTable[]> {
  const spelt = [...before, await one];
  for (const table of others) spelt.push(await spellTable(table, asked, effort));
  return spelt;
}
