export type Engine = 'sqlite' | 'postgres';

/** What each column type and table ending is called on one engine; handed to migrations. */
export interface ColumnTypes {
  readonly engine: Engine;
  /** Text compared by its UTF-8 bytes, so that keys page in the same order everywhere. */
  readonly text: string;
  /** A 64-bit integer. */
  readonly integer: string;
  readonly bytes: string;
  /** Closes `create table (…`. */
  readonly table: string;
  /**
   * Closes the definition of a table that is read by its primary key and whose rows are
   * small: SQLite then keeps the rows in the key's own tree.
   */
  readonly keyed_table: string;
}

const SQLITE: ColumnTypes = {
  engine: 'sqlite',
  text: 'text',
  integer: 'integer',
  bytes: 'blob',
  // Strict tables refuse a value of the wrong type, as PostgreSQL does.
  table: ') strict',
  keyed_table: ') strict, without rowid',
};

const POSTGRES: ColumnTypes = {
  engine: 'postgres',
  text: 'text collate "C"',
  integer: 'bigint',
  bytes: 'bytea',
  table: ')',
  keyed_table: ')',
};

export function columnTypes(engine: Engine): ColumnTypes {
  return engine === 'sqlite' ? SQLITE : POSTGRES;
}
