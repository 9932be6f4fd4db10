import { build, type Db } from '../../store/database.ts';
import { inBlocks } from '../../store/in-blocks.ts';
import type { WorkerStatusRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';

/** What every worker reported last. There are as many rows as workers, which are few. */
export async function listStatuses(db: Db): Promise<WorkerStatusRow[]> {
  return db.selectFrom('worker_status').selectAll().execute();
}

export function saveStatus(status: WorkerStatusRow): Write {
  const { worker_id, ...rest } = status;
  return write(
    build
      .insertInto('worker_status')
      .values(status)
      .onConflict((clash) => clash.column('worker_id').doUpdateSet(rest)),
    { rows: 1 },
  );
}

export function deleteStatus(worker_id: string): Write {
  return write(build.deleteFrom('worker_status').where('worker_id', '=', worker_id));
}

/** How many open connections workers carry; those that carry none are left out. */
export async function countOpenConnections(
  db: Db,
  worker_ids: readonly string[],
): Promise<Map<string, number>> {
  const rows = await inBlocks([...new Set(worker_ids)], (some) =>
    db
      .selectFrom('session_connection')
      .select(({ fn }) => ['worker_id', fn.countAll().as('open')])
      .where('worker_id', 'in', some)
      .where('status', '<>', 'closed')
      .groupBy('worker_id')
      .execute(),
  );
  return new Map(rows.map(({ worker_id, open }) => [worker_id, Number(open)]));
}

/** Ids of workers that carry something. */
export async function listCarrying(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('session_connection')
    .select('worker_id')
    .distinct()
    .where('status', '<>', 'closed')
    .execute();
  return rows.map(({ worker_id }) => worker_id);
}
