import type { App } from '../app/app.ts';
import type { JobRun } from '../app/job.ts';
import { eachApart } from '../core/fairness/each-apart.ts';
import type { ChainHead } from '../core/record-chain.ts';
import {
  cutChain,
  findHead,
  listAuditNodes,
  listCursors,
  listStampsAfter,
  readChainStart,
  readLastSeq,
} from './store.ts';

/** The most records that are deleted in one write set: fewer where they are long. */
const PAGE = 1000;
const DAY_MS = 86_400_000;

/**
 * Deletes the records that are older than the setting says, of every node's chain, as far as the
 * sinks of that node have taken them. The last record of a chain always stays: its node goes on
 * from it.
 */
export async function cutOldRecords(app: App, turn: JobRun): Promise<void> {
  const days = app.config.audit.retention_days;
  if (days === 0) return;
  const before_ms = app.now() - days * DAY_MS;
  await eachApart(await listAuditNodes(app.db), async (node) => {
    const cursors = await listCursors(app.db, node);
    const taken = Math.min(...cursors.map((cursor) => cursor.seq));
    const upTo = Math.min(taken, (await readLastSeq(app.db, node)) - 1);
    while (!turn.stopping) {
      const head = await findCut(app, node, { upTo, before_ms });
      if (!head) break;
      await turn.commit(cutChain(node, head));
    }
  });
}

/** The last record of the next page to be deleted; a page is bounded in bytes as well. Undefined for none. */
export async function findCut(
  app: App,
  node: string,
  limits: { upTo: number; before_ms: number },
): Promise<ChainHead | undefined> {
  const { seq } = await readChainStart(app.db, node);
  const rows = await listStampsAfter(app.db, { node, seq, limit: PAGE });
  const isOld = (row: { seq: number; time_ms: number }) =>
    row.seq <= limits.upTo && row.time_ms < limits.before_ms;
  const kept = rows.findIndex((row) => !isOld(row));
  const last = rows[(kept < 0 ? rows.length : kept) - 1];
  return last && findHead(app.db, node, last.seq);
}
