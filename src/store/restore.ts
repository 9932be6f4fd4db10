import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Failure } from '../core/failure.ts';
import { type BackupFacts, copyChecked, syncPath, takeFacts } from './backup-file.ts';
import { build } from './database.ts';
import { listUnfinished, makeDirectory, UNFINISHED } from './directory.ts';
import { loadIntoPostgres } from './postgres/copy.ts';
import { lockDirectory } from './sqlite/lock.ts';
import { openStore, type Store, type StoreOptions } from './store.ts';
import { write } from './write.ts';

interface RestoreOptions {
  /** Whether what is in the target may be replaced. */
  replace: boolean;
  /** What is written into the restored database before anybody can open it. */
  finish(store: Store, facts: BackupFacts): Promise<void>;
}

/**
 * Puts a backup in the place of a database, on either engine, whichever it was taken from.
 * Everything is prepared in a database of its own, brought to the newest schema, and then put
 * in place at once: what is interrupted leaves the target as it was.
 *
 * @throws Failure `invalid` when the file is no whole backup; `conflict` when there is a
 *   database and it may not be replaced; `unavailable` when a server runs on the target, or
 *   when a later program made the backup
 */
export async function restore(
  target: StoreOptions,
  file: string,
  options: RestoreOptions,
): Promise<BackupFacts> {
  return target.engine === 'sqlite'
    ? restoreSqlite(target, file, options)
    : restorePostgres(target, file, options);
}

async function restoreSqlite(
  target: StoreOptions & { engine: 'sqlite' },
  file: string,
  options: RestoreOptions,
): Promise<BackupFacts> {
  const { directory } = target;
  makeDirectory(directory);
  using _lock = lockDirectory(directory);
  let work: string | undefined;
  try {
    const present = join(directory, 'gatehouse.db');
    if (existsSync(present) && !options.replace) {
      throw new Failure(
        'conflict',
        `there is a database in "${directory}": -force replaces everything that is in it`,
      );
    }
    // Nobody else is at work here: this is what a killed one left.
    for (const left of listUnfinished(directory)) rmSync(left, { recursive: true, force: true });
    // Beside the place it goes to, so that it can be moved there in one step. As long as it is there,
    // no server starts.
    work = mkdtempSync(join(directory, UNFINISHED));
    syncPath(directory);
    const facts = await prepare(work, file, target.node_name, options);
    // The log of the old database must not be taken for one of the new; until the new one is in
    // place, the old must not need it.
    emptyLog(present);
    for (const end of ['-wal', '-shm', '-journal']) rmSync(present + end, { force: true });
    syncPath(directory);
    renameSync(join(work, 'gatehouse.db'), present);
    syncPath(directory);
    return facts;
  } finally {
    if (work !== undefined) rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Puts what is in a database's log into its file. One that is damaged is about to be replaced.
 *
 * @throws Failure `conflict` when somebody who reads it stands in the way
 */
function emptyLog(file: string): void {
  if (!existsSync(file)) return;
  let busy: unknown;
  try {
    busy = change(file, (database) =>
      database.prepare('pragma wal_checkpoint(truncate)').get(),
    )?.busy;
  } catch {
    // It is restored because it is broken.
  }
  if (busy === 1) {
    throw new Failure('conflict', `another process reads "${file}": let it end first`);
  }
}

async function restorePostgres(
  target: StoreOptions & { engine: 'postgres' },
  file: string,
  options: RestoreOptions,
): Promise<BackupFacts> {
  const work = mkdtempSync(join(tmpdir(), 'gatehouse-restore-'));
  try {
    const facts = await prepare(work, file, target.node_name, options);
    using database = new DatabaseSync(join(work, 'gatehouse.db'), { readOnly: true });
    await loadIntoPostgres(target.url, database, options);
    return facts;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Makes the whole restored database, as one file `gatehouse.db` in a directory. */
async function prepare(
  work: string,
  file: string,
  node_name: string | undefined,
  options: RestoreOptions,
): Promise<BackupFacts> {
  const copy = join(work, 'gatehouse.db');
  copyChecked(file, copy);
  const facts = change(copy, takeFacts);
  const store = await openStore({
    engine: 'sqlite',
    directory: work,
    ...(node_name === undefined ? {} : { node_name }),
  });
  try {
    await options.finish(store, facts);
    const incarnation = randomUUID();
    await store.commit([
      write(build.updateTable('config_version').set({ incarnation }), { rows: 1 }),
    ]);
  } finally {
    await store.close();
  }
  // Whatever is still in its log goes into the file.
  change(copy, (database) => database.exec('pragma journal_mode = delete'));
  syncPath(copy);
  return facts;
}

function change<T>(file: string, work: (database: DatabaseSync) => T): T {
  using database = new DatabaseSync(file);
  return work(database);
}
