import { build, type Db } from '../../store/database.ts';
import { inBlocks } from '../../store/in-blocks.ts';
import type { WorkerKeyRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';

interface Activation {
  token_hmac: string;
  worker_id: string;
  expires_ms: number;
  secret_sealed: Uint8Array | null;
}

export function insertActivation(activation: Activation): Write {
  return write(build.insertInto('worker_activation').values(activation), { rows: 1 });
}

/** One that has not run out. */
export async function findActivation(
  db: Db,
  token_hmac: string,
  now: number,
): Promise<Activation | undefined> {
  return db
    .selectFrom('worker_activation')
    .selectAll()
    .where('token_hmac', '=', token_hmac)
    .where('expires_ms', '>', now)
    .executeTakeFirst();
}

/** A token that is used: by one alone. */
export function deleteActivation(token_hmac: string): Write {
  return write(build.deleteFrom('worker_activation').where('token_hmac', '=', token_hmac), {
    rows: 1,
  });
}

/** Of a worker that is removed. */
export function deleteActivations(worker_id: string): Write {
  return write(build.deleteFrom('worker_activation').where('worker_id', '=', worker_id));
}

export function deleteActivationsBefore(expires_ms: number): Write {
  return write(build.deleteFrom('worker_activation').where('expires_ms', '<', expires_ms));
}

/** @returns undefined for a key that is not known, or not any more */
export async function findKey(db: Db, key_sha256: string): Promise<WorkerKeyRow | undefined> {
  return db
    .selectFrom('worker_key')
    .selectAll()
    .where('key_sha256', '=', key_sha256)
    .executeTakeFirst();
}

/** Which of some keys are known, and have not run out. */
export async function listKnownKeys(
  db: Db,
  keys_sha256: readonly string[],
  now: number,
): Promise<Set<string>> {
  const rows = await inBlocks([...new Set(keys_sha256)], (some) =>
    db
      .selectFrom('worker_key')
      .select('key_sha256')
      .where('key_sha256', 'in', some)
      .where('not_after_ms', '>', now)
      .execute(),
  );
  return new Set(rows.map((row) => row.key_sha256));
}

/** Which of some workers have a key that is known. */
export async function listWorkersWithKeys(
  db: Db,
  worker_ids: readonly string[],
): Promise<Set<string>> {
  const rows = await inBlocks([...new Set(worker_ids)], (some) =>
    db.selectFrom('worker_key').select('worker_id').where('worker_id', 'in', some).execute(),
  );
  return new Set(rows.map((row) => row.worker_id));
}

export function insertKey(row: WorkerKeyRow): Write {
  return write(build.insertInto('worker_key').values(row), { rows: 1 });
}

const REPLACED = {
  rows: 1,
  conflict: 'the key that the worker came with is not known any more: it has another one',
};

/** That a key is still known, and stays so until the set is durable: sets of one worker follow each other. */
export function requireKey(worker_id: string, key_sha256: string): Write {
  return write(
    build
      .updateTable('worker_key')
      .set((row) => ({ worker_id: row.ref('worker_id') }))
      .where('key_sha256', '=', key_sha256)
      .where('worker_id', '=', worker_id),
    REPLACED,
  );
}

/** A further key of a worker, if it has fewer than `most`. */
export function insertNextKey(row: WorkerKeyRow, most: number): Write {
  return write(
    build
      .insertInto('worker_key')
      .columns(['key_sha256', 'worker_id', 'not_after_ms'])
      .expression(
        build
          .selectFrom('worker_key')
          .select(({ val }) => [
            val(row.key_sha256).as('key_sha256'),
            val(row.worker_id).as('worker_id'),
            val(row.not_after_ms).as('not_after_ms'),
          ])
          .where('worker_id', '=', row.worker_id)
          .limit(1)
          .where(
            ({ selectFrom }) =>
              selectFrom('worker_key as other')
                .select(({ fn }) => fn.countAll().as('keys'))
                .where('other.worker_id', '=', row.worker_id),
            '<',
            most,
          ),
      ),
    { rows: 1, conflict: 'the worker has asked for many keys that it has not come with' },
  );
}

/** Keys of a worker that are older than the one it comes with. */
export function deleteOlderKeys({ key_sha256, worker_id, not_after_ms }: WorkerKeyRow): Write {
  return write(
    build
      .deleteFrom('worker_key')
      .where('worker_id', '=', worker_id)
      .where('key_sha256', '<>', key_sha256)
      .where('not_after_ms', '<=', not_after_ms),
  );
}

/** Keys of a worker that it has not come with, and whose certificates end before a time. */
export function deleteUnusedKeys(
  { worker_id, key_sha256 }: { worker_id: string; key_sha256: string },
  before_ms: number,
): Write {
  return write(
    build
      .deleteFrom('worker_key')
      .where('worker_id', '=', worker_id)
      .where('key_sha256', '<>', key_sha256)
      .where('not_after_ms', '<', before_ms),
  );
}

/** Of a worker that is removed. */
export function deleteKeys(worker_id: string): Write {
  return write(build.deleteFrom('worker_key').where('worker_id', '=', worker_id));
}
