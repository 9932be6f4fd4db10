import type { Batch, Refusal } from '../batch.ts';
import type { PipelineResult, Step } from '../pipeline.ts';
import { writesOf } from '../write.ts';
import { refusalOf, requireRows } from './refusal.ts';

const SAVEPOINT: Step = { sql: 'savepoint write_set', parameters: [] };
const RELEASE: Step = { sql: 'release write_set', parameters: [] };

/** Leaves out what was written since the last savepoint, which is nothing where all went well. */
export const ROLLBACK_TO: Step = { sql: 'rollback to write_set', parameters: [] };

/** Write sets of which each stands or falls alone, within one transaction. */
interface Apart {
  /** Of each set one; {@link ROLLBACK_TO} has to follow. */
  groups: Step[][];
  /** @throws Interrupted when it is no set that is at fault */
  judge(results: readonly PipelineResult[]): (Refusal | null)[];
}

/**
 * Lays out the writes of sets so that all are run in one round trip, and those that are refused leave nothing behind.
 * At the end of each set its savepoint is made anew. Where the set fails this is left out with the rest of it, so that
 * going back to the savepoint is right either way. Records are not among them: each is chained to that before it,
 * so they wait until it is known which sets are written.
 *
 * @param begin what comes before the first of them
 */
export function planApart(begin: readonly Step[], batch: Batch): Apart {
  const sets = batch.map((set, at) => ({
    lead: at === 0 ? [...begin, SAVEPOINT] : [ROLLBACK_TO],
    writes: writesOf(set),
  }));
  return {
    groups: sets.map(({ lead, writes }) => [
      ...lead,
      ...writes.map((write) => ({ sql: requireRows(write), parameters: write.parameters })),
      RELEASE,
      SAVEPOINT,
    ]),
    judge: (results) =>
      sets.map(({ lead, writes }, at) => {
        const { done = [], error } = results[at] ?? {};
        return error ? refusalOf(writes, { done, error }, lead.length) : null;
      }),
  };
}
