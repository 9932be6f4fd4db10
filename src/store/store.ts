import { join } from 'node:path';
import { Failure } from '../core/failure.ts';
import type { Engine } from './columns.ts';
import { Committer, type CommitterStats, type StoreLog } from './committer.ts';
import { createDb, type Db, prepared } from './database.ts';
import { makeDirectory, refuseUnfinished } from './directory.ts';
import { PostgresReader } from './postgres/reader.ts';
import { ConfigWatch } from './postgres/watch.ts';
import type { DatabasePlace } from './reading.ts';
import { createPrivate, lockDirectory } from './sqlite/lock.ts';
import { SqliteReader } from './sqlite/reader.ts';
import type { Tables } from './tables.ts';
import type { Effect } from './write.ts';

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
  onWrite(table: keyof Tables, listener: () => void): void;
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
  const listeners = new Set<(version: number) => void>();
  try {
    refuseUnfinished(directory);
    // SQLite gives its other files the mode of this one.
    createPrivate(file);
    const committer = await Committer.start({
      options: { engine: 'sqlite', file, node },
      log,
      onConfigVersion: (version) => {
        for (const listener of listeners) listener(version);
      },
    });
    const reader = new SqliteReader(file);
    const db = createDb(reader);
    return {
      engine: 'sqlite',
      db,
      place: { engine: 'sqlite', file },
      commit: (effects) => committer.commit(effects),
      configVersion: () =>
        readVersion.first(db, {}).then((row) => {
          if (row === undefined) throw new Failure('unavailable', 'the configuration is missing');
          return row.version;
        }),
      // Every change passes through here.
      refreshConfig: async () => {},
      onConfigChange: (listener) => listeners.add(listener),
      onWrite: (table, listener) => committer.onWrite(table, listener),
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
  let watch: ConfigWatch | undefined;
  const committer = await Committer.start({
    options: { engine: 'postgres', url, node },
    log,
    onConfigVersion: (version) => watch?.note(version),
  });
  try {
    const started = await ConfigWatch.start(url, log);
    watch = started;
    const reader = new PostgresReader(url, connections, log);
    return {
      engine: 'postgres',
      db: createDb(reader),
      place: { engine: 'postgres', url },
      async commit(effects) {
        started.requireAlive();
        await committer.commit(effects);
      },
      configVersion: () => started.version(),
      refreshConfig: () => started.refresh(),
      onConfigChange: (listener) => started.onChange(listener),
      onWrite: (table, listener) => committer.onWrite(table, listener),
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

const CONSOLE_LOG: StoreLog = {
  info: () => {},
  warn: (detail, message) => console.error(message, detail),
  error: (detail, message) => console.error(message, detail),
};
