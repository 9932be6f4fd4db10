import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { BoundedMap } from '../../core/bounded-map.ts';
import { Failure } from '../../core/failure.ts';
import { nextBreath } from '../../core/fairness/breath.ts';
import { LoopTurns } from '../../core/fairness/loop-turns.ts';
import { MOST_BYTES, type Reader, type Some } from '../database.ts';
import { noteLong } from '../long-reads.ts';
import type { Value } from '../write.ts';

/** How long a connection waits for a lock that another one holds for a moment. */
export const BUSY_TIMEOUT_MS = 5_000;

/** Statements kept compiled by each connection; queries of varying shape push the oldest out. */
const STATEMENTS = 500;

/** The statements of one connection, compiled once for each text. */
export class StatementCache<S> {
  readonly #compile: (sql: string) => S;
  readonly #statements = new BoundedMap<S>(STATEMENTS);

  /** @param compile is given the text with parameters numbered as SQLite numbers them */
  constructor(compile: (sql: string) => S) {
    this.#compile = compile;
  }

  get(sql: string): S {
    const compile = (): S => this.#compile(numberParameters(sql));
    return this.#statements.getOrInsertComputed(sql, compile);
  }
}

/** Turns `$1` into `?1`, which SQLite binds by number; quoted text stays as it is. */
export function numberParameters(sql: string): string {
  return sql.replace(/'[^']*'|"[^"]*"|\$(\d+)/g, (found, number?: string) =>
    number === undefined ? found : `?${number}`,
  );
}

interface ReadStatement {
  statement: StatementSync;
  columns: string[];
}

/**
 * Reads on the calling thread: a read by key takes a few microseconds, less than handing it
 * to another thread would. Whoever reads one page after the other gives way to others by that
 * alone; a single statement cannot be interrupted and has to be short.
 */
export class SqliteReader implements Reader {
  readonly #database: DatabaseSync;
  readonly #statements: StatementCache<ReadStatement>;
  readonly #turns = new LoopTurns();

  constructor(file: string) {
    const database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
    this.#database = database;
    this.#statements = new StatementCache((sql) => {
      const statement = database.prepare(sql);
      statement.setReturnArrays(true);
      return { statement, columns: statement.columns().map(({ name }) => name) };
    });
  }

  all(sql: string, parameters: readonly Value[]): Promise<unknown[]> {
    return this.#ask(sql, ({ statement, columns }) => {
      const rows = statement.all(...parameters).map((values) => rowOf(columns, values));
      return afterLong(rows, rows);
    });
  }

  first(sql: string, parameters: readonly Value[]): Promise<unknown> {
    return this.#ask(sql, ({ statement, columns }) => {
      const values = statement.get(...parameters);
      if (values === undefined) return undefined;
      const row = rowOf(columns, values);
      return afterLong([row], row);
    });
  }

  some(sql: string, parameters: readonly Value[], long: readonly string[]): Promise<Some<unknown>> {
    return this.#ask(sql, ({ statement, columns }) => {
      const places = long.map((column) => columns.indexOf(column));
      const rows: object[] = [];
      let bytes = 0;
      // Left off in the middle, the rest is never read.
      for (const values of statement.iterate(...parameters)) {
        rows.push(rowOf(columns, values));
        for (const at of places) bytes += lengthOf(values, at);
        if (bytes >= MOST_BYTES) break;
      }
      return afterLong(rows, { rows, bytes, more: bytes >= MOST_BYTES });
    });
  }

  async #ask<Read>(sql: string, read: (one: ReadStatement) => Read | Promise<Read>): Promise<Read> {
    if (this.#turns.isOver) await this.#turns.next();
    try {
      return read(this.#statements.get(sql));
    } catch (error) {
      throw readFailure(error);
    }
  }

  async close(): Promise<void> {
    if (this.#database.isOpen) this.#database.close();
  }
}

/** What was read; where it is long others have their turn before anything is made of it. */
function afterLong<Read>(rows: readonly object[], read: Read): Read | Promise<Read> {
  return noteLong(rows) ? nextBreath().then(() => read) : read;
}

/** Rows are made here because those of `node:sqlite` have no prototype, unlike PostgreSQL's. */
function rowOf(columns: readonly string[], values: unknown): object {
  const row: Record<string, unknown> = {};
  if (Array.isArray(values)) {
    for (let index = 0; index < columns.length; index += 1) {
      const name = columns[index];
      if (name !== undefined) row[name] = values[index];
    }
  }
  return row;
}

function lengthOf(values: unknown, at: number): number {
  const value: unknown = Array.isArray(values) ? values[at] : undefined;
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;
}

/** SQLite's result codes that say the statement is wrong, not the database. */
const STATEMENT_ERRORS = new Set([
  1, // SQLITE_ERROR: cannot be compiled
  18, // SQLITE_TOOBIG
  19, // SQLITE_CONSTRAINT
  20, // SQLITE_MISMATCH
  21, // SQLITE_MISUSE
  25, // SQLITE_RANGE
]);

/** The extended result code (https://sqlite.org/rescode.html), or undefined for another error. */
export function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}

/** Whether it is the statement that failed, and not the database under it. */
export function isStatementError(error: unknown): boolean {
  const code = resultCode(error);
  return code === undefined || STATEMENT_ERRORS.has(code & 0xff);
}

function readFailure(error: unknown): unknown {
  if (isStatementError(error)) return error;
  return new Failure('unavailable', 'the database cannot be read', { cause: error });
}
