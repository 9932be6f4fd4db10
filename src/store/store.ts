import { join } from 'node:path';
import type { MessagePort } from 'node:worker_threads';
import { Failure } from '../core/failure.ts';
import type { Engine } from './columns.ts';
import { Committer, type CommitterStats, type StoreLog } from './committer.ts';
import { createDb, type Db, prepared } from './database.ts';
import { makeDirectory, refuseUnfinished } from './directory.ts';
import { PostgresReader } from './postgres/reader.ts';
import { ConfigWatch, isStale, otherDatabase } from './postgres/watch.ts';
import type { DatabasePlace } from './reading.ts';
import { createPrivate, lockDirectory } from './sqlite/lock.ts';
import { SqliteReader } from './sqlite/reader.ts';
import type { Effect } from './write.ts';
import { type KeptTable, WriteCounts } from './write-counts.ts';

export type { StoreLog } from './committer.ts';

const readVersion = prepared((build) => build.selectFrom('config_version').select('version'));

export type StoreOptions = (
  | {
      engine: 'sqlite';
      /** Created when it does not exist; one process at a time may have it open. */
      directory: string;
      /** Names this server's audit chain; `local` unless given. */
      node_name?: string;
    }
  | {
      engine: 'postgres';
      /** `postgres://user:password@host:port/database?sslmode=…` */
      url: string;
      /** Names this node and its audit chain; no other process may use it at the same time. */
      node_name: string;
      /** Connections for reading, 10 unless given. */
      pool?: number;
    }
) & { log?: StoreLog };

export interface Store {
  readonly engine: Engine;
  readonly db: Db;
  /** For a thread of this process that reads on its own; see `reading.ts`. */
  readonly place: DatabasePlace;
  /**
   * Makes one write set durable, all or nothing, and resolves when nothing can undo it.
   * Sets that wait at the same time share a transaction; none of them sees another's refusal.
   *
   * @throws Failure `conflict` when a row count or a key refuses the set; `invalid` for text
   *   that cannot be stored; `unavailable` when the database cannot take it, or when the
   *   connection was lost so that nobody knows whether it did
   */
  commit(effects: readonly Effect[]): Promise<void>;
  /**
   * The number that grows with every change of configuration. On PostgreSQL the change of
   * another node is seen within a second at the latest.
   *
   * @throws Failure `unavailable` when that promise cannot be kept
   */
  configVersion(): number | Promise<number>;
  /** Learns of every change of configuration that was durable before the call, on any node. */
  refreshConfig(): Promise<void>;
  /** Calls back after a change, on this node before the `commit` that made it resolves. */
  onConfigChange(listener: (version: number) => void): void;
  /**
   * Calls back when a write set that names the table has ended, well or not, before its `commit`
   * resolves. What other nodes write to PostgreSQL does not show here: rows may be kept between
   * requests on SQLite only.
   */
  onWrite(table: KeptTable, listener: () => void): void;
  /**
   * Tells the listeners above what was written since, by whatever thread, and is called before anything that they
   * keep is used: it costs nothing while nothing was.
   */
  catchUp(): void;
  /**
   * How often a table, or the configuration, was written by the last {@link Store.catchUp}: the same number on all threads
   * of the process, for what one keeps for others.
   */
  seen(of: KeptTable | 'config'): number;
  /** Calls back some time after another thread has written. */
  onOthers(listener: () => void): void;
  /** Whether others write that a request here knows nothing of: other nodes, or threads of this one. */
  readonly hasOthers: boolean;
  /** For another thread of this process that reads and writes: see {@link joinStore}. */
  share(): SharedStore;
  /** Calls back when this process can never write again; it should end. */
  onDeath(listener: (death: Failure) => void): void;
  stats(): CommitterStats;
  close(): Promise<void>;
}

/**
 * Opens the database, creating it or bringing its schema up to date.
 *
 * @throws Failure `unavailable` with one line for the operator: it cannot be reached, another
 *   process has it, or a later program has changed it
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const log = options.log ?? CONSOLE_LOG;
  if (options.engine === 'sqlite') {
    return openSqlite(options.directory, options.node_name ?? 'local', log);
  }
  return openPostgres(options.url, options.node_name, options.pool ?? 10, log);
}

async function openSqlite(directory: string, node: string, log: StoreLog): Promise<Store> {
  makeDirectory(directory);
  const file = join(directory, 'gatehouse.db');
  const lock = lockDirectory(directory);
  const counts = new WriteCounts();
  try {
    refuseUnfinished(directory);
    // SQLite gives its other files the mode of this one.
    createPrivate(file);
    const committer = await Committer.start({
      options: { engine: 'sqlite', file, node },
      log,
      counts,
    });
    const place = { engine: 'sqlite' as const, file };
    const reader = new SqliteReader(file);
    const db = createDb(reader);
    let isShared = false;
    return {
      engine: 'sqlite',
      db,
      place,
      commit: (effects) => committer.commit(effects),
      configVersion: () => readConfigVersion(db),
      // Every change passes through here.
      refreshConfig: async () => committer.written.catchUp(),
      ...listenersOf(committer),
      get hasOthers() {
        return isShared;
      },
      share() {
        isShared = true;
        return { place, counts: counts.shared, port: committer.connect() };
      },
      onDeath: (listener) => committer.onDeath(listener),
      stats: () => committer.stats(),
      close: async () => {
        await committer.close();
        await reader.close();
        if (lock.isOpen) lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw error;
  }
}

async function openPostgres(
  url: string,
  node: string,
  connections: number,
  log: StoreLog,
): Promise<Store> {
  const counts = new WriteCounts();
  const committer = await Committer.start({
    options: { engine: 'postgres', url, node },
    log,
    counts,
  });
  try {
    const started = await ConfigWatch.start(url, log, counts);
    counts.noteConfig(await started.version());
    committer.written.catchUp();
    committer.written.onConfigChange((version) => started.note(version));
    // What other nodes change.
    started.onChange((version) => {
      counts.noteConfig(version);
      committer.written.catchUp();
    });
    const place = { engine: 'postgres' as const, url };
    const reader = new PostgresReader(url, connections, log);
    return {
      engine: 'postgres',
      db: createDb(reader),
      place,
      async commit(effects) {
        started.requireAlive();
        await committer.commit(effects);
      },
      configVersion: () => started.version(),
      refreshConfig: () => started.refresh(),
      ...listenersOf(committer),
      hasOthers: true,
      share: () => ({ place, counts: counts.shared, port: committer.connect() }),
      onDeath(listener) {
        committer.onDeath(listener);
        started.onDeath(listener);
      },
      stats: () => committer.stats(),
      close: async () => {
        await committer.close();
        await started.close();
        await reader.close();
      },
    };
  } catch (error) {
    await committer.close();
    throw error;
  }
}

function readConfigVersion(db: Db): Promise<number> {
  return readVersion.first(db, {}).then((row) => {
    if (row === undefined) throw new Failure('unavailable', 'the configuration is missing');
    return row.version;
  });
}

const listenersOf = (
  committer: Committer,
): Pick<Store, 'onConfigChange' | 'onWrite' | 'catchUp' | 'seen' | 'onOthers'> => ({
  onConfigChange: (listener) => committer.written.onConfigChange(listener),
  onWrite: (table, listener) => committer.written.onWrite(table, listener),
  catchUp: () => committer.written.catchUp(),
  seen: (of) => committer.written.seen(of),
  onOthers: (listener) => committer.onOthers(listener),
});

/** What a thread is given to read and write a database that is open already; the port is to be transferred. */
export interface SharedStore {
  place: DatabasePlace;
  counts: SharedArrayBuffer;
  port: MessagePort;
}

/** What only the thread that opened the store can do. */
export interface StoreOwner {
  /** See `Store.configVersion`; asked on PostgreSQL, where it was not confirmed of late. */
  confirmConfig(): Promise<number>;
  /** See `Store.refreshConfig`. */
  refreshConfig(): Promise<void>;
}

/** On another thread of the process that has opened it: the same store, with readers and a way to write of its own. */
export function joinStore(
  shared: SharedStore,
  owner: StoreOwner,
  { log = CONSOLE_LOG, pool = 4 }: { log?: StoreLog; pool?: number } = {},
): Store {
  const { place } = shared;
  const counts = new WriteCounts(shared.counts);
  const committer = Committer.join(shared.port, log, counts);
  const isSqlite = place.engine === 'sqlite';
  const reader = isSqlite ? new SqliteReader(place.file) : new PostgresReader(place.url, pool, log);
  const db = createDb(reader);
  const confirmed = (): number | Promise<number> =>
    isStale(counts) ? owner.confirmConfig() : counts.config;
  return {
    engine: place.engine,
    db,
    place,
    commit: (effects) =>
      counts.hasEnded ? Promise.reject(otherDatabase()) : committer.commit(effects),
    configVersion: () => (isSqlite ? readConfigVersion(db) : confirmed()),
    async refreshConfig() {
      if (!isSqlite) await owner.refreshConfig();
      committer.written.catchUp();
    },
    ...listenersOf(committer),
    hasOthers: true,
    share() {
      throw new TypeError('a store is shared by the thread that opened it');
    },
    onDeath: (listener) => committer.onDeath(listener),
    stats: () => committer.stats(),
    async close() {
      await committer.close();
      await reader.close();
    },
  };
}

const CONSOLE_LOG: StoreLog = {
  info: () => {},
  warn: (detail, message) => console.error(message, detail),
  error: (detail, message) => console.error(message, detail),
};
