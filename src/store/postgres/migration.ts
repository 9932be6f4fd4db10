import { Client } from 'pg';
import { Failure } from '../../core/failure.ts';
import { columnTypes } from '../columns.ts';
import { planMigrations } from '../migrations.ts';
import { connectSession, lockKey, sessionConfig } from './session.ts';

/**
 * Brings the schema up to date in one transaction. Nodes that start together wait here for
 * each other, and the later ones find nothing left to do.
 *
 * @throws Failure `unavailable` when a later program has changed the database, or when it
 *   does not store text as UTF-8
 */
export async function migratePostgres(url: string): Promise<void> {
  const client = new Client(sessionConfig(url, 'migration'));
  client.on('error', () => {});
  await connectSession(client);
  try {
    await requireUtf8(client);
    await client.query('begin');
    await migrateInTransaction(client);
    await client.query('commit');
  } finally {
    await client.end();
  }
}

/** Brings the schema up to date in the transaction that is open; others wait until it ends. */
export async function migrateInTransaction(client: Client): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [lockKey('migration')]);
  // What a trigger left for the end would keep later steps from changing its table.
  await client.query('set constraints all immediate');
  const text = columnTypes('postgres');
  await client.query(
    `create table if not exists schema_migration (number ${text.integer} not null primary key, name ${text.text} not null, applied_at ${text.integer} not null)`,
  );
  const { rows } = await client.query<{ number: number }>('select number from schema_migration');
  for (const migration of planMigrations(rows.map((row) => row.number))) {
    for (const statement of migration.up(text)) await client.query(statement);
    await client.query('insert into schema_migration values ($1, $2, $3)', [
      migration.number,
      migration.name,
      Math.floor(Date.now() / 1000),
    ]);
  }
  await client.query('set constraints all deferred');
}

/** @throws Failure `unavailable` when the database does not store text as UTF-8 */
export async function requireUtf8(client: Client): Promise<void> {
  const { rows } = await client.query<{ encoding: string }>(
    "select current_setting('server_encoding') as encoding",
  );
  const encoding = rows[0]?.encoding;
  if (encoding !== 'UTF8') {
    throw new Failure(
      'unavailable',
      `the database stores text as ${encoding}: create it with encoding UTF8`,
    );
  }
}
