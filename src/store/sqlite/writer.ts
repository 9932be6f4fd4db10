import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Failure } from '../../core/failure.ts';
import { type ChainHead, chainRecord, chainStart } from '../../core/record-chain.ts';
import { readApplied } from '../backup-file.ts';
import {
  type Batch,
  type BatchResult,
  type BatchWriter,
  guardRefusal,
  type Refusal,
  refuseAll,
} from '../batch.ts';
import { columnTypes } from '../columns.ts';
import { bumpsConfigVersion, READ_CONFIG_VERSION } from '../config-version.ts';
import { isHold, withoutLocks } from '../holding.ts';
import { KeptHolds } from '../kept-holds.ts';
import { planMigrations } from '../migrations.ts';
import { type Effect, isAuditEntry, type Write } from '../write.ts';
import { BUSY_TIMEOUT_MS, isStatementError, resultCode, StatementCache } from './reader.ts';

const INSERT_AUDIT_ENTRY =
  'insert into audit_entry (node, seq, time_ms, record, prev_hash, hash) values ($1, $2, $3, $4, $5, $6)';

/** Milliseconds of a batch: whoever comes meanwhile waits for its end. */
const BATCH_MS = 25;

/** Thrown inside a set to leave it; never leaves this file. */
class Refused extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** Thrown where a set was refused when something of it was written: only the whole transaction can be undone. */
class HalfWritten extends Refused {}

/**
 * The one connection that writes. A batch is one transaction and one wait for the disk. With a savepoint around each set
 * it could be refused alone, but SQLite would copy every page of the batch before it is written, a fifth of all this
 * thread does: so there are none, what is refused before anything of it is written is passed over, and a
 * batch of which a set is refused later is undone and written once more, with savepoints.
 */
export class SqliteWriter implements BatchWriter {
  readonly #database: DatabaseSync;
  readonly #statements: StatementCache<StatementSync>;
  readonly #holds: KeptHolds;
  readonly #node: string;
  #head: ChainHead;
  /** Whether the last batch had a set that was refused late: the next one begins with savepoints. */
  #isCareful = false;

  /**
   * Opens the file, creating it if needed, and brings its schema up to date.
   *
   * @throws Failure `unavailable` when it was written by a later program
   */
  constructor(file: string, node: string) {
    this.#node = node;
    this.#database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
    this.#database.exec('pragma journal_mode = wal');
    // Waits for the disk at every commit; `normal` would lose the last ones at a power cut.
    this.#database.exec('pragma synchronous = full');
    // Moves pages to the main file less often than the default of 1000: the wait is shorter.
    this.#database.exec('pragma wal_autocheckpoint = 4000');
    // What is deleted or replaced is overwritten in its page: a backup is a copy of pages, and would have it.
    this.#database.exec('pragma secure_delete = fast');
    this.#statements = new StatementCache((sql) => this.#database.prepare(withoutLocks(sql)));
    migrate(this.#database);
    this.#holds = new KeptHolds(readTriggered(this.#database));
    this.#head = readHead(this.#database, node);
  }

  run(batch: Batch): BatchResult {
    const headBefore = this.#head;
    this.#holds.forget();
    try {
      this.#database.exec('begin immediate');
      const outcomes = this.#runSets(batch);
      const left = batch.length - outcomes.length;
      const bumped = batch.some((set, at) => outcomes[at] === null && bumpsConfigVersion(set));
      const { version } = (bumped && this.#statements.get(READ_CONFIG_VERSION).get()) || {};
      this.#database.exec('commit');
      return typeof version === 'number'
        ? { outcomes, left, config_version: version }
        : { outcomes, left };
    } catch (error) {
      this.#head = headBefore;
      this.#leaveTransaction();
      if (error instanceof HalfWritten) {
        if (batch.length === 1) return { outcomes: [error.refusal] };
        this.#isCareful = true;
        return this.run(batch);
      }
      return refuseAll(batch, {
        kind: 'unavailable',
        message: `the database did not take the write: ${messageOf(error)}`,
      });
    }
  }

  close(): void {
    this.#database.close();
  }

  /** As many sets as there is time for, one at least. */
  #runSets(batch: Batch): (Refusal | null)[] {
    const isCareful = this.#isCareful && batch.length > 1;
    if (isCareful) this.#isCareful = false;
    const until = performance.now() + BATCH_MS;
    const outcomes: (Refusal | null)[] = [];
    for (const set of batch) {
      outcomes.push(isCareful ? this.#runApart(set) : this.#runSet(set));
      if (performance.now() > until) break;
    }
    return outcomes;
  }

  /** With a savepoint, by which what was written of a set that is refused is undone. */
  #runApart(set: readonly Effect[]): Refusal | null {
    const headBefore = this.#head;
    this.#statements.get('savepoint write_set').run();
    let refusal: Refusal | null = null;
    try {
      refusal = this.#runSet(set);
    } catch (error) {
      if (!(error instanceof HalfWritten)) throw error;
      this.#head = headBefore;
      this.#isCareful = true;
      this.#holds.forget();
      this.#statements.get('rollback to write_set').run();
      refusal = error.refusal;
    }
    this.#statements.get('release write_set').run();
    return refusal;
  }

  /** @throws HalfWritten when it is refused, but for one of which nothing was written */
  #runSet(set: readonly Effect[]): Refusal | null {
    let hasWritten = false;
    try {
      for (const effect of set) {
        if (isAuditEntry(effect)) {
          this.#chain(effect.audit);
          hasWritten = true;
        } else if (this.#write(effect) > 0) hasWritten = true;
      }
      return null;
    } catch (error) {
      // A full disk or a broken file takes the whole transaction down; it has ended already.
      if (!(error instanceof Refused) && !isStatementError(error)) throw error;
      if (!this.#database.isTransaction) throw error;
      const refusal: Refusal =
        error instanceof Refused ? error.refusal : { kind: 'bug', message: messageOf(error) };
      if (hasWritten || error instanceof HalfWritten) throw new HalfWritten(refusal);
      return refusal;
    }
  }

  /**
   * @returns how many rows were written
   * @throws Refused when its guard does not hold, as HalfWritten where it has written some
   */
  #write(write: Write): number | bigint {
    const isRead = isHold(write.sql);
    // A write set has the database to itself: there is nobody to wait for.
    if (write.rows === undefined && isRead) return 0;
    let touched: number | bigint;
    try {
      touched = isRead ? this.#hold(write) : this.#change(write);
    } catch (error) {
      const taken = takenKey(error);
      if (taken === undefined) throw error;
      throw new Refused({ kind: 'conflict', message: write.conflict ?? taken });
    }
    if (write.rows !== undefined && touched !== write.rows) {
      const refusal = guardRefusal(write.conflict);
      throw touched === 0 || isRead ? new Refused(refusal) : new HalfWritten(refusal);
    }
    return isRead ? 0 : touched;
  }

  /** How many rows it finds. */
  #hold({ sql, parameters }: Write): number {
    const known = this.#holds.find(sql, parameters);
    if (known !== undefined) return known;
    const { length } = this.#statements.get(sql).all(...parameters);
    this.#holds.set(sql, parameters, length);
    return length;
  }

  #change({ sql, parameters }: Write): number | bigint {
    const { changes } = this.#statements.get(sql).run(...parameters);
    this.#holds.note(sql);
    return changes;
  }

  #chain(record: string): void {
    const next = chainRecord(this.#head, record);
    this.#holds.note(INSERT_AUDIT_ENTRY);
    this.#statements
      .get(INSERT_AUDIT_ENTRY)
      .run(this.#node, next.seq, Date.now(), record, this.#head.hash, next.hash);
    this.#head = next;
  }

  #leaveTransaction(): void {
    try {
      if (this.#database.isTransaction) this.#database.exec('rollback');
    } catch {
      // The connection is broken: the next batch meets the same error and says so.
    }
  }
}

const CONSTRAINT_FOREIGN_KEY = 787;
const CONSTRAINT_KEYS = new Set([1555 /* primary key */, 2067 /* unique */, 2579 /* rowid */]);

/** What to say of a broken key, or undefined when it was something else that broke. */
function takenKey(error: unknown): string | undefined {
  const code = resultCode(error);
  if (code === CONSTRAINT_FOREIGN_KEY) return 'something it refers to does not exist any more';
  if (code === undefined || !CONSTRAINT_KEYS.has(code)) return undefined;
  // `UNIQUE constraint failed: thing.mount_id, thing.name`; only for people to read.
  const columns = (messageOf(error).split(': ').at(-1) ?? '').split(', ');
  const [table] = columns[0]?.split('.') ?? [];
  return `it exists already: ${table} (${columns.map((column) => column.split('.').at(-1)).join(', ')})`;
}

function migrate(database: DatabaseSync): void {
  database.exec('begin immediate');
  try {
    database.exec(
      'create table if not exists schema_migration (number integer not null primary key, name text not null, applied_at integer not null) strict',
    );
    const record = database.prepare('insert into schema_migration values (?, ?, ?)');
    for (const migration of planMigrations(readApplied(database))) {
      for (const statement of migration.up(columnTypes('sqlite'))) database.exec(statement);
      record.run(migration.number, migration.name, Math.floor(Date.now() / 1000));
    }
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    database.close();
    throw error;
  }
}

/** Tables whose triggers write others, or may. */
function readTriggered(database: DatabaseSync): Set<string> {
  const triggers = database.prepare("select tbl_name from sqlite_master where type = 'trigger'");
  return new Set(triggers.all().map(({ tbl_name }) => String(tbl_name)));
}

function readHead(database: DatabaseSync, node: string): ChainHead {
  const last = database
    .prepare('select seq, hash from audit_entry where node = ? order by seq desc limit 1')
    .get(node);
  if (last === undefined) return chainStart(node);
  const { seq, hash } = last;
  if (typeof seq !== 'number' || !(hash instanceof Uint8Array)) {
    throw new Failure('unavailable', 'the audit chain cannot be read');
  }
  return { seq, hash };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
