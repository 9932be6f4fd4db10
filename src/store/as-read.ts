import type { Insertable, Selectable } from 'kysely';
import type { Tables } from './tables.ts';
import { requireValue, type Value, type Write } from './write.ts';

// Some rows are read, merged with what a request says, and written whole. In between somebody else
// may have changed the row, or removed it: what they were told is done must stay done. Such a write
// goes through only while the row is what was read (docs/adr/0016).

const CHANGED = 'it was changed by somebody else in the meantime: try again';

/** A row, and what it was when it was read. */
interface AsRead<Row, Key extends keyof Row> {
  key: Pick<Row, Key>;
  /** Columns that tell it from any other state of it, e.g. the tag of its body, or its version. */
  read: Partial<Omit<Selectable<Row>, Key>>;
}

/**
 * Writes a row whole that was read before; `read` is undefined where there was none, and then it is
 * inserted. A row that is another one by now, or is gone, or has come, refuses the write set.
 */
export function saveAsRead<Name extends keyof Tables, Key extends keyof Tables[Name] & string>(
  table: Name,
  row: {
    key: Pick<Tables[Name], Key>;
    read: Partial<Omit<Selectable<Tables[Name]>, Key>> | undefined;
    next: Omit<Insertable<Tables[Name]>, Key>;
  },
  conflict: string = CHANGED,
): Write {
  const { key, read, next } = row;
  return read === undefined
    ? { ...insertion(table, { ...key, ...next }), rows: 1, conflict }
    : changeAsRead(table, { key, read, next }, conflict);
}

/** Writes some columns of a row that was read before; the others stay as they are, and are not sent. */
export function changeAsRead<Name extends keyof Tables, Key extends keyof Tables[Name] & string>(
  table: Name,
  row: AsRead<Tables[Name], Key> & { next: Partial<Omit<Insertable<Tables[Name]>, Key>> },
  conflict: string = CHANGED,
): Write {
  const { key, read, next } = row;
  return { ...update(table, next, { ...key, ...requireSome(read) }), rows: 1, conflict };
}

/** Removes a row, where what else is done rests on what it was. */
export function deleteAsRead<Name extends keyof Tables, Key extends keyof Tables[Name] & string>(
  table: Name,
  { key, read }: AsRead<Tables[Name], Key>,
  conflict: string = CHANGED,
): Write {
  const parameters: Value[] = [];
  const where = conditions({ ...key, ...requireSome(read) }, parameters);
  return { sql: `delete from "${table}" where ${where}`, parameters, rows: 1, conflict };
}

/** Refuses its write set unless a row, which stays as it is, still is what it was: see `held.ts`. */
export function holdAsRead<Name extends keyof Tables, Key extends keyof Tables[Name] & string>(
  table: Name,
  { key, read }: AsRead<Tables[Name], Key>,
  conflict?: string,
): Write {
  const parameters: Value[] = [];
  const where = conditions({ ...key, ...requireSome(read) }, parameters);
  const sql = `select 1 from "${table}" where ${where} for share`;
  return { sql, parameters, rows: 1, ...(conflict !== undefined && { conflict }) };
}

function insertion(table: string, row: object): Pick<Write, 'sql' | 'parameters'> {
  const columns = Object.keys(row);
  const names = columns.map((name) => `"${name}"`).join(', ');
  const places = columns.map((_, at) => `$${at + 1}`).join(', ');
  const parameters = Object.values(row).map(requireValue);
  return { sql: `insert into "${table}" (${names}) values (${places})`, parameters };
}

function update(table: string, next: object, was: object): Pick<Write, 'sql' | 'parameters'> {
  const parameters: Value[] = [];
  const set = Object.entries(next).map(([name, value]) => {
    parameters.push(requireValue(value));
    return `"${name}" = $${parameters.length}`;
  });
  const where = conditions(was, parameters);
  return { sql: `update "${table}" set ${set.join(', ')} where ${where}`, parameters };
}

function conditions(was: object, parameters: Value[]): string {
  return Object.entries(was)
    .map(([name, value]) => {
      if (value === null) return `"${name}" is null`;
      parameters.push(requireValue(value));
      return `"${name}" = $${parameters.length}`;
    })
    .join(' and ');
}

/** @throws TypeError when nothing is compared: a mistake in the program */
function requireSome(read: object): object {
  if (Object.keys(read).length > 0) return read;
  throw new TypeError('a row is compared with what was read of it: name a column');
}
