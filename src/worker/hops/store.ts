import { build, type Db } from '../../store/database.ts';
import { inBlocks } from '../../store/in-blocks.ts';
import type { WorkerErrandRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';

export function insertErrand(row: Omit<WorkerErrandRow, 'is_taken' | 'answer'>): Write {
  const whole = { ...row, is_taken: 0, answer: '' };
  return write(build.insertInto('worker_errand').values(whole), { rows: 1 });
}

/** What waits for some workers. */
export async function listErrands(
  db: Db,
  worker_ids: readonly string[],
  now: number,
): Promise<WorkerErrandRow[]> {
  return inBlocks(worker_ids, (some) =>
    db
      .selectFrom('worker_errand')
      .selectAll()
      .where('worker_id', 'in', some)
      .where('is_taken', '=', 0)
      .where('expires_ms', '>', now)
      .execute(),
  );
}

/** By one server alone. */
export function takeErrand(id: string): Write {
  const query = build.updateTable('worker_errand').set({ is_taken: 1 });
  return write(query.where('id', '=', id).where('is_taken', '=', 0), { rows: 1 });
}

export function answerErrand(id: string, answer: string): Write {
  return write(build.updateTable('worker_errand').set({ answer }).where('id', '=', id));
}

/** How far somebody is with it. */
export async function findErrand(
  db: Db,
  id: string,
): Promise<Pick<WorkerErrandRow, 'is_taken' | 'answer'> | undefined> {
  return db
    .selectFrom('worker_errand')
    .select(['is_taken', 'answer'])
    .where('id', '=', id)
    .executeTakeFirst();
}

/** One that is done, and all that nobody waits for any more. */
export function deleteErrands(id: string, expired_ms: number): Write {
  const query = build.deleteFrom('worker_errand');
  return write(
    query.where((row) => row.or([row('id', '=', id), row('expires_ms', '<', expired_ms)])),
  );
}
