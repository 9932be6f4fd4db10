import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { Failure } from '../core/failure.ts';
import { BUSY_TIMEOUT_MS } from './sqlite-reader.ts';

/** Pages copied at once: all of them. A step more would start over after each write. */
const ALL_PAGES = 2 ** 31 - 1;

/**
 * Copies a live database into a new file, as it is at one moment. It has a connection of
 * its own and runs beside the event loop; writers go on meanwhile.
 *
 * Restoring a copy is putting the file in the place of `gatehouse.db` while no server runs,
 * with its `-wal` and `-shm` files removed. Two things then have to be seen to: numbers that
 * may only grow (a CRL's) have been given out beyond those in the copy, so they must jump
 * ahead; and certificates issued since are unknown to it, while their serial numbers are
 * random and will not come again. The audit chain goes on from the copy's last record, which
 * a head kept elsewhere shows.
 *
 * @throws Failure `conflict` when the file exists
 */
export async function backupSqlite(source: string, target: string): Promise<void> {
  if (existsSync(target)) {
    throw new Failure('conflict', `"${target}" exists: name a new file for the backup`);
  }
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  closeSync(openSync(partial, 'wx', 0o600));
  const database = new DatabaseSync(source, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    await backup(database, partial, { rate: ALL_PAGES });
    syncPath(partial);
    renameSync(partial, target);
    syncPath(dirname(target));
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  } finally {
    database.close();
  }
}

function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
