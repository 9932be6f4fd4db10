import {
  closeSync,
  existsSync,
  linkSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { Failure } from '../core/failure.ts';
import {
  appendChecksum,
  type BackupFacts,
  readApplied,
  readSchema,
  syncPath,
  writeFacts,
} from './backup-file.ts';
import { planMigrations } from './migrations.ts';
import { copyFromPostgres } from './postgres/copy.ts';
import { BUSY_TIMEOUT_MS } from './sqlite/reader.ts';
import type { StoreOptions } from './store.ts';

/** Pages copied at once: all of them. A step more would start over after each write. */
const ALL_PAGES = 2 ** 31 - 1;

/**
 * Writes what a database holds at one moment into a new file, while any number of servers go
 * on reading and writing it. The file comes into being whole or not at all.
 *
 * Secrets are in it as they are in the database: sealed. What opens the seal is not.
 *
 * @param made when and by which program, for the backup's own record
 * @throws Failure `conflict` when the file exists; `unavailable` when there is nothing to copy,
 *   a later program has changed the database, or it is damaged
 */
export async function backUp(
  source: StoreOptions,
  target: string,
  made: { now: number; program: string },
): Promise<BackupFacts> {
  if (existsSync(target)) throw takenFailure(target);
  // Beside the place it goes to, and nobody else's: two that write the same backup do not meet.
  const work = makeWork(target);
  const partial = join(work, 'gatehouse.db');
  try {
    createPrivate(partial);
    if (source.engine === 'sqlite') await copyFromSqlite(source.directory, partial);
    const facts = await finish(source, partial, made);
    appendChecksum(partial);
    syncPath(partial);
    putInPlace(partial, target);
    syncPath(dirname(target));
    return facts;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** What a killed backup leaves is beneath this name, and nothing that is beneath it is a backup. */
function makeWork(target: string): string {
  try {
    return mkdtempSync(`${target}.partial-`);
  } catch (cause) {
    throw new Failure('unavailable', `"${target}" cannot be written`, { cause });
  }
}

/** Gives a finished file its name, unless another has come to have it meanwhile. */
function putInPlace(partial: string, target: string): void {
  try {
    linkSync(partial, target);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause;
    if (cause.code === 'EEXIST') throw takenFailure(target);
    // Where there are no further names for a file, a step is left in which it can be replaced.
    if (existsSync(target)) throw takenFailure(target);
    renameSync(partial, target);
  }
}

function takenFailure(target: string): Failure {
  return new Failure('conflict', `"${target}" exists: name a new file for the backup`);
}

/** Has a connection of its own and runs beside the event loop; writers go on meanwhile. */
async function copyFromSqlite(directory: string, target: string): Promise<void> {
  const file = join(directory, 'gatehouse.db');
  if (!existsSync(file)) {
    throw new Failure('unavailable', `there is no database in "${directory}"`);
  }
  using database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    await backup(database, target, { rate: ALL_PAGES });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : '';
    throw new Failure('unavailable', `the database could not be copied: ${why}`, { cause });
  }
}

async function finish(
  source: StoreOptions,
  partial: string,
  made: { now: number; program: string },
): Promise<BackupFacts> {
  const { engine } = source;
  using database = new DatabaseSync(partial, { enableForeignKeyConstraints: false });
  // One file, without a log beside it. What a crash leaves of it is never used.
  database.exec('pragma journal_mode = delete; pragma synchronous = off');
  if (source.engine === 'postgres') await copyFromPostgres(source.url, database);
  const found = database.prepare('pragma quick_check(1)').get()?.quick_check;
  if (found !== 'ok') throw new Failure('unavailable', `the database is damaged: ${found}`);
  const schema = readSchema(database);
  planMigrations(readApplied(database));
  const facts = { engine, taken_at_ms: made.now, program: made.program };
  writeFacts(database, facts);
  return { schema, ...facts };
}

function createPrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (cause) {
    throw new Failure('unavailable', `"${path}" cannot be written`, { cause });
  }
}
