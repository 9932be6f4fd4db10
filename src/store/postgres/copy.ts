import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { Client } from 'pg';
import { Failure } from '../../core/failure.ts';
import { columnTypes } from '../columns.ts';
import { MIGRATIONS, planMigrations } from '../migrations.ts';
import { migrateInTransaction, requireUtf8 } from './migration.ts';
import { connectSession, lockKey, sessionConfig } from './session.ts';

// Which tables and columns there are is read from the SQLite side, which the migrations made:
// a table that is added later is copied without anything being changed here.

/** Rows read or written in one round trip. */
const PAGE = 500;

/** What the session that a node writes with is called. */
const COMMITTER = /^gatehouse committer (?<node>.*)$/s;

/** How often it is looked, each twentieth of a second, whether sessions that are there still are leaving. */
const LOOKS_AT_LEAVING = 40;

/** Bytes of values in one statement, about, and in what it answers; rows with a long list in them go alone. */
const STATEMENT_BYTES = 4 << 20;

/**
 * Fills an empty SQLite database with what a PostgreSQL database holds at one moment. Reads
 * within one transaction, page by page; nobody waits for it.
 *
 * @param database without checks of foreign keys: rows come in no particular order
 * @throws Failure `unavailable` when it cannot be reached, holds nothing of ours, or a later
 *   program has changed it
 */
export async function copyFromPostgres(url: string, database: DatabaseSync): Promise<void> {
  await withClient(url, 'backup', async (client) => {
    // A long read is not idle, whatever the server's defaults say.
    await client.query(
      "set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set bytea_output = 'hex'",
    );
    await client.query('begin transaction isolation level repeatable read read only');
    if (!(await holdsTables(client))) {
      throw new Failure('unavailable', 'there is nothing in the database to back up');
    }
    createTables(database, await appliedMigrations(client));
    database.exec('begin');
    for (const table of listTables(database)) await copyTable(client, database, table);
    database.exec('commit');
    await client.query('commit');
  });
}

/**
 * Fills a PostgreSQL database with what a SQLite database of the newest schema holds, in one
 * transaction: afterwards all of it is there, or what was there before.
 *
 * @param replace whether what is there may be dropped
 * @throws Failure `conflict` when something is there and may not be dropped, or when a server
 *   runs on it; `unavailable` when it cannot be reached, or a later program has changed it
 */
export async function loadIntoPostgres(
  url: string,
  database: DatabaseSync,
  { replace }: { replace: boolean },
): Promise<void> {
  await withClient(url, 'restore', async (client) => {
    await requireUtf8(client);
    await client.query('begin');
    // From here a server that starts waits, and then finds what was restored.
    await client.query('select pg_advisory_xact_lock($1)', [lockKey('migration')]);
    await refuseRunningNodes(client);
    const tables = listTables(database);
    if (await holdsTables(client)) {
      if (!replace) {
        throw new Failure(
          'conflict',
          'the database is not empty: -force replaces everything that is in it',
        );
      }
      planMigrations(await appliedMigrations(client));
      const names = tables.map(({ name }) => quote(name)).join(', ');
      await client.query(`drop table if exists ${names} cascade`);
    }
    await migrateInTransaction(client);
    const references = await deferReferences(client);
    for (const table of tables) await loadTable(client, database, table);
    await client.query('set constraints all immediate');
    for (const reference of references) await client.query(`${reference} not deferrable`);
    await client.query('commit');
  });
}

interface Table {
  name: string;
  columns: string[];
  /** Of them those that may be long: texts and bytes. */
  long: string[];
}

/** The tables of a SQLite database, with their columns. */
function listTables(database: DatabaseSync): Table[] {
  const names = database
    .prepare(
      "select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite!_%' escape '!' order by name",
    )
    .all()
    .map(({ name }) => String(name));
  return names.map((name) => {
    const columns = database
      .prepare('select name, type from pragma_table_info(?) order by cid')
      .all(name)
      .map((column) => ({ name: String(column.name), type: String(column.type).toLowerCase() }));
    return {
      name,
      columns: columns.map((column) => column.name),
      long: columns.filter(({ type }) => type !== 'integer').map((column) => column.name),
    };
  });
}

/** Makes the tables as the given migrations left them. */
function createTables(database: DatabaseSync, applied: readonly number[]): void {
  database.exec(
    'create table schema_migration (number integer not null primary key, name text not null, applied_at integer not null) strict',
  );
  for (const migration of MIGRATIONS) {
    if (!applied.includes(migration.number)) continue;
    for (const statement of migration.up(columnTypes('sqlite'))) database.exec(statement);
  }
}

async function copyTable(client: Client, database: DatabaseSync, table: Table): Promise<void> {
  // Some migrations put a first row into their table.
  database.exec(`delete from ${quote(table.name)}`);
  const columns = table.columns.map(quote).join(', ');
  const marks = table.columns.map(() => '?').join(', ');
  const insert = database.prepare(
    `insert into ${quote(table.name)} (${columns}) values (${marks})`,
  );
  // A length is known without reading what has it, and where a row lies stays so within the transaction.
  const length = table.long.map((column) => `coalesce(octet_length(${quote(column)}), 0)`);
  await client.query(
    `declare page no scroll cursor for
      select ctid::text as place, ${['0', ...length].join(' + ')} as bytes from ${quote(table.name)}`,
  );
  for (;;) {
    const { rows: found } = await client.query<Placed>(`fetch ${PAGE} from page`);
    for (const places of inStatements(found)) {
      const { rows } = await client.query<SQLInputValue[]>({
        text: `select ${columns} from ${quote(table.name)} where ctid = any($1::tid[])`,
        values: [places],
        rowMode: 'array',
      });
      for (const row of rows) insert.run(...row);
    }
    if (found.length < PAGE) break;
  }
  await client.query('close page');
}

/** Where a row lies, and how long its values are. */
interface Placed {
  place: string;
  bytes: number;
}

/** The places of rows that are read together: of so many bytes, or of one row. */
export function inStatements(rows: readonly Placed[], most = STATEMENT_BYTES): string[][] {
  const statements: string[][] = [];
  let left = 0;
  for (const { place, bytes } of rows) {
    const last = statements.at(-1);
    if (last && bytes <= left) last.push(place);
    else {
      statements.push([place]);
      left = most;
    }
    left -= bytes;
  }
  return statements;
}

async function loadTable(client: Client, database: DatabaseSync, table: Table): Promise<void> {
  await client.query(`delete from ${quote(table.name)}`);
  const columns = table.columns.map(quote).join(', ');
  let values: unknown[] = [];
  let bytes = 0;
  const send = async (): Promise<void> => {
    if (values.length === 0) return;
    const width = table.columns.length;
    const rows = Array.from({ length: values.length / width }, (_row, row) => {
      const marks = table.columns.map((_column, column) => `$${row * width + column + 1}`);
      return `(${marks.join(', ')})`;
    });
    const text = `insert into ${quote(table.name)} (${columns}) values ${rows.join(', ')}`;
    await client.query(text, values);
    values = [];
    bytes = 0;
  };
  const select = database.prepare(`select ${columns} from ${quote(table.name)}`);
  for (const row of select.iterate()) {
    for (const column of table.columns) {
      const value = row[column];
      values.push(value);
      bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8;
    }
    if (bytes > STATEMENT_BYTES || values.length >= PAGE * table.columns.length) await send();
  }
  await send();
}

/**
 * Has foreign keys checked at the end of the transaction, as rows come in no order.
 *
 * @returns the beginning of the statement that changes each of them back
 */
async function deferReferences(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ reference: string }>(
    `select format('alter table %s alter constraint %I', conrelid::regclass, conname) as reference
       from pg_constraint
      where contype = 'f' and connamespace = current_schema()::regnamespace and not condeferrable`,
  );
  const references = rows.map(({ reference }) => reference);
  for (const reference of references) {
    await client.query(`${reference} deferrable initially deferred`);
  }
  return references;
}

async function holdsTables(client: Client): Promise<boolean> {
  const { rows } = await client.query<{ there: boolean }>(
    "select to_regclass('schema_migration') is not null as there",
  );
  return rows[0]?.there === true;
}

async function appliedMigrations(client: Client): Promise<number[]> {
  const { rows } = await client.query<{ number: number }>('select number from schema_migration');
  const applied = rows.map(({ number }) => number);
  planMigrations(applied);
  return applied;
}

/** A node keeps the head of its audit chain in memory, and would go on from the wrong record. */
async function refuseRunningNodes(client: Client): Promise<void> {
  let names = await listSessions(client);
  // PostgreSQL shows a session until it is gone, some while after its client or its locks are.
  for (let look = 0; names.length > 0 && look < LOOKS_AT_LEAVING; look += 1) {
    await client.query('select pg_sleep(0.05)');
    names = await listSessions(client);
  }
  if (names.length === 0) return;
  // One that does not find its tables has no committer, and tries again and again.
  const nodes = names.flatMap((name) => COMMITTER.exec(name)?.groups?.node ?? []);
  const who = nodes.length > 0 ? nodes.map((node) => ` "${node}"`).join(',') : ' of any name';
  throw new Failure('conflict', `the database is in use by node${who}: stop it first`);
}

/** What the sessions of other programs of ours are called, backups left out. */
async function listSessions(client: Client): Promise<string[]> {
  // A transaction is shown the same again and again otherwise.
  await client.query('select pg_stat_clear_snapshot()');
  const { rows } = await client.query<{ name: string }>(
    `select application_name as name from pg_stat_activity
      where datname = current_database() and starts_with(application_name, 'gatehouse ')
        and pid <> pg_backend_pid() and application_name <> 'gatehouse backup'`,
  );
  return rows.map(({ name }) => name);
}

async function withClient(
  url: string,
  purpose: string,
  work: (client: Client) => Promise<void>,
): Promise<void> {
  const client = new Client(sessionConfig(url, purpose));
  client.on('error', () => {});
  try {
    await connectSession(client);
    await work(client);
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    const why = cause instanceof Error ? cause.message : '';
    throw new Failure('unavailable', `${purpose} over PostgreSQL: ${why}`, { cause });
  } finally {
    await client.end().catch(() => {});
  }
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
