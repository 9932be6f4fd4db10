import {
  type Compilable,
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
} from 'kysely';
import type { ReadonlyKysely } from 'kysely/readonly';
import type { Tables } from './tables.ts';
import {
  type Guard,
  isPortable,
  refuseUnportable,
  requireValue,
  type Value,
  type Write,
} from './write.ts';

/**
 * The database as store functions read it. It refuses to write, in its type and in its
 * connections; writes are values given to `Store.commit`. A read sees everything that a
 * `commit` on this node has resolved for.
 */
export type Db = ReadonlyKysely<Tables>;

/** Builds queries that are compiled and never run here: the start of every write. */
export const build: Kysely<Tables> = new Kysely<Tables>({
  dialect: dialectOver(() => new DummyDriver()),
});

/** A query in its own words, for {@link prepared} and {@link preparedWrite}. */
export function compiled<Row>(query: RawBuilder<Row>): Compilable<Row> {
  return { compile: () => query.compile(build) };
}

/** How one engine runs a read. Rows are plain objects; parameters are numbered from 1. */
export interface Reader {
  all(sql: string, parameters: readonly Value[]): Promise<unknown[]>;
  first(sql: string, parameters: readonly Value[]): Promise<unknown>;
  /** As `all`, as far as {@link MOST_BYTES} go. */
  some(
    sql: string,
    parameters: readonly Value[],
    columns: readonly string[],
  ): Promise<Some<unknown>>;
  close(): Promise<void>;
}

/** The most that is read at once of columns which may be long, but for a single row that has more. */
export const MOST_BYTES = 2 * 1024 * 1024;

/** The first rows of a query. */
export interface Some<Row> {
  rows: Row[];
  /** Bytes of the columns in them; more or less, where it is not plain ASCII. */
  bytes: number;
  /** Whether rows may be left: these had as many bytes as are read at once. */
  more: boolean;
}

const readers = new WeakMap<object, Reader>();

/** Wraps an engine's reader for queries written with Kysely. */
export function createDb(engine: Reader): Db {
  const reader = onlyPortable(engine);
  const kysely = new Kysely<Tables>({ dialect: dialectOver(() => new ReaderDriver(reader)) });
  readers.set(kysely, reader);
  // The library's own way to narrow it: the read-only type is not a supertype of the full one.
  return kysely as never;
}

/** PostgreSQL refuses texts that SQLite takes: what is asked of either is the same. */
function onlyPortable(reader: Reader): Reader {
  const refuse = () => Promise.reject(refuseUnportable());
  return {
    all: (sql, asked) => (isPortable(asked) ? reader.all(sql, asked) : refuse()),
    first: (sql, asked) => (isPortable(asked) ? reader.first(sql, asked) : refuse()),
    some: (sql, asked, columns) =>
      isPortable(asked) ? reader.some(sql, asked, columns) : refuse(),
    close: () => reader.close(),
  };
}

/**
 * A read compiled once and run many times; the parameters are named.
 *
 * @template P the parameters, e.g. `{ id: string }`
 * @template Row what each row holds
 */
export interface Prepared<P extends Parameters, Row> {
  readonly sql: string;
  /** The first row, or undefined. The query should say `limit 1` unless it is by a key. */
  first(db: Db, parameters: P): Promise<Row | undefined>;
  all(db: Db, parameters: P): Promise<Row[]>;
  /**
   * Rows from the first on, until those columns of them which may be long have {@link MOST_BYTES}: at least
   * one if there is any.
   */
  some(db: Db, parameters: P, ...columns: (string & keyof Row)[]): Promise<Some<Row>>;
}

type Parameters = Record<string, Value>;

/**
 * Compiles a read once. For what is on the path of every request; elsewhere a query built
 * where it is used reads better and costs some ten microseconds more.
 *
 *     const findName = prepared((build, p: { id: string }) =>
 *       build.selectFrom('thing').select('name').where('id', '=', p.id));
 *     const row = await findName.first(db, { id });
 *
 * @param make is called once, with stand-ins in place of the parameters: it may put them
 *   into the query and do nothing else with them
 */
export function prepared<P extends Parameters, Row>(
  make: (build: Kysely<Tables>, parameters: P) => Compilable<Row>,
): Prepared<P, Row> {
  const { sql, fill } = compileWithNames(make);
  return {
    sql,
    first: (db, parameters) =>
      readerOf(db).first(sql, fill(parameters)) as Promise<Row | undefined>,
    all: (db, parameters) => readerOf(db).all(sql, fill(parameters)) as Promise<Row[]>,
    some: (db, parameters, ...columns) =>
      readerOf(db).some(sql, fill(parameters), columns) as Promise<Some<Row>>,
  };
}

/** As {@link prepared}, for a statement that changes rows: compiled once, a value each time. */
export function preparedWrite<P extends Parameters>(
  make: (build: Kysely<Tables>, parameters: P) => Compilable,
  guard: Guard = {},
): (parameters: P) => Write {
  const { sql, fill } = compileWithNames(make);
  return (parameters) => {
    const values = fill(parameters);
    for (const value of values) requireValue(value);
    return { sql, parameters: values, ...guard };
  };
}

function compileWithNames<P extends Parameters>(
  make: (build: Kysely<Tables>, parameters: P) => Compilable,
): { sql: string; fill(parameters: P): Value[] } {
  const compiled = make(build, standIns<P>()).compile();
  const slots = compiled.parameters.map((parameter) =>
    parameter instanceof StandIn ? parameter : requireValue(parameter),
  );
  const fill = (parameters: P): Value[] => {
    const values: Value[] = [];
    for (const slot of slots) {
      const value = slot instanceof StandIn ? parameters[slot.name] : slot;
      if (value === undefined) throw missing(slot);
      values.push(value);
    }
    return values;
  };
  return { sql: compiled.sql, fill };
}

function missing(slot: unknown): TypeError {
  const name = slot instanceof StandIn ? slot.name : '';
  return new TypeError(`the query's parameter ${name} is missing`);
}

/** Takes a parameter's place while its query is compiled. */
class StandIn {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  [Symbol.toPrimitive](): never {
    throw new TypeError(`the parameter ${this.name} has no value yet: a query is compiled once`);
  }
}

function standIns<P extends Parameters>(): P {
  return new Proxy({} as P, {
    get: (_target, name) => new StandIn(String(name)),
    ownKeys: () => {
      throw new TypeError('name each parameter: `...parameters` cannot tell which there are');
    },
  });
}

function readerOf(db: Db): Reader {
  const reader = readers.get(db);
  if (reader === undefined) throw new TypeError('this is not a database opened by the store');
  return reader;
}

/**
 * One SQL dialect for both engines: SQLite understands what PostgreSQL's compiler writes,
 * once the parameters are renumbered (`sqlite/reader.ts`).
 */
function dialectOver(createDriver: () => Driver) {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver,
    createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
}

/** Runs what Kysely compiled; there is no transaction to begin. */
class ReaderDriver implements Driver {
  readonly #connection: DatabaseConnection;
  readonly #reader: Reader;

  constructor(reader: Reader) {
    this.#reader = reader;
    this.#connection = {
      async executeQuery<R>(query: CompiledQuery) {
        const rows = await reader.all(query.sql, query.parameters.map(requireValue));
        return { rows: rows as R[] };
      },
      streamQuery() {
        throw new TypeError('read page by page: a stream would hold a snapshot open');
      },
    };
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async releaseConnection(): Promise<void> {}

  async beginTransaction(): Promise<void> {
    throw new TypeError('no transaction is held open: collect the writes and commit them');
  }

  async commitTransaction(): Promise<void> {}

  async rollbackTransaction(): Promise<void> {}

  async destroy(): Promise<void> {
    await this.#reader.close();
  }
}
