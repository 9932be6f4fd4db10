import { build, type Db } from '../../../store/database.ts';
import type { WorkerRootRow } from '../../../store/tables.ts';
import { type Write, write } from '../../../store/write.ts';

/** The roots, the present one first. */
export async function listRoots(db: Db): Promise<WorkerRootRow[]> {
  return db.selectFrom('worker_root').selectAll().orderBy('use').execute();
}

/** Takes away the roots that a decision was made on: refused if there are others by now. */
export function deleteRoots(present: readonly Pick<WorkerRootRow, 'public_key_sha256'>[]): Write[] {
  return present.map(({ public_key_sha256 }) =>
    write(build.deleteFrom('worker_root').where('public_key_sha256', '=', public_key_sha256), {
      rows: 1,
    }),
  );
}

/** Of workers that were enrolled under roots which are thrown away. */
export function deleteAllKeys(): Write {
  return write(build.deleteFrom('worker_key'));
}

export function insertRoot(row: WorkerRootRow): Write {
  return write(build.insertInto('worker_root').values(row), { rows: 1 });
}
