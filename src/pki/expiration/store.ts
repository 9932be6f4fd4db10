import { sql } from 'kysely';
import { holdAsRead, saveAsRead } from '../../store/as-read.ts';
import { build, type Db } from '../../store/database.ts';
import type { Tables } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import type { Channel } from './settings.ts';

type SettingsRow = Omit<Tables['pki_expiration_warning'], 'mount_id'>;

export function findWarnings(db: Db, mount_id: string): Promise<SettingsRow | undefined> {
  return db
    .selectFrom('pki_expiration_warning')
    .select(['version', 'enabled', 'body', 'webhook_secret_sealed'])
    .where('mount_id', '=', mount_id)
    .executeTakeFirst();
}

/** @param read the version of the row that is being replaced; 0 for none */
export function saveWarnings(
  mount_id: string,
  read: number,
  next: Omit<SettingsRow, 'version'>,
): Write {
  return saveAsRead('pki_expiration_warning', {
    key: { mount_id },
    read: read === 0 ? undefined : { version: read },
    next: { ...next, version: read + 1 },
  });
}

/** Refuses a write set once the settings are others, or the mount is gone. */
export function holdWarnings(mount_id: string, version: number): Write {
  return holdAsRead('pki_expiration_warning', { key: { mount_id }, read: { version } });
}

/** Mounts of which somebody is warned, some after an id. */
export async function listWarned(db: Db, after: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('pki_expiration_warning')
    .select('mount_id')
    .where('enabled', '=', 1)
    .where('mount_id', '>', after)
    .orderBy('mount_id')
    .limit(limit)
    .execute();
  return rows.map(({ mount_id }) => mount_id);
}

/** How far it has got: all that ends before was looked at. */
export type Cursor = Omit<Tables['pki_expiration_cursor'], 'mount_id' | 'channel' | 'ahead'>;

/** By seconds ahead. */
export async function readCursors(
  db: Db,
  mount_id: string,
  channel: Channel,
): Promise<ReadonlyMap<number, Cursor>> {
  const rows = await db
    .selectFrom('pki_expiration_cursor')
    .select(['ahead', 'not_after', 'serial', 'issuer_not_after', 'issuer_id'])
    .where('mount_id', '=', mount_id)
    .where('channel', '=', channel)
    .execute();
  return new Map(rows.map(({ ahead, ...cursor }) => [ahead, cursor]));
}

/** @param read what is being replaced: whoever has gone on meanwhile has told what this would */
export function saveCursor(
  key: Pick<Tables['pki_expiration_cursor'], 'mount_id' | 'channel' | 'ahead'>,
  read: Cursor | undefined,
  next: Cursor,
): Write {
  return saveAsRead('pki_expiration_cursor', { key, read, next });
}

/** Where it begins anew when somebody is warned again. @param kept seconds ahead that stay */
export function deleteCursors(mount_id: string, channel: Channel, kept: readonly number[]): Write {
  const all = build
    .deleteFrom('pki_expiration_cursor')
    .where('mount_id', '=', mount_id)
    .where('channel', '=', channel);
  return write(kept.length === 0 ? all : all.where('ahead', 'not in', kept));
}

type MessageRow = Tables['pki_expiration_message'];

export const insertMessage = (row: MessageRow): Write =>
  write(build.insertInto('pki_expiration_message').values(row), { rows: 1 });

export const deleteMessage = ({
  mount_id,
  channel,
  id,
}: Pick<MessageRow, 'mount_id' | 'channel' | 'id'>): Write =>
  write(
    build
      .deleteFrom('pki_expiration_message')
      .where('mount_id', '=', mount_id)
      .where('channel', '=', channel)
      .where('id', '=', id),
  );

export const deleteMessages = (mount_id: string, channel: Channel): Write =>
  write(
    build
      .deleteFrom('pki_expiration_message')
      .where('mount_id', '=', mount_id)
      .where('channel', '=', channel),
  );

/** Puts off all that waits for a receiver: none of it would get there before. */
export const putOff = (
  { mount_id, channel, attempts }: Pick<MessageRow, 'mount_id' | 'channel' | 'attempts'>,
  next_at_ms: number,
): Write =>
  write(
    build
      .updateTable('pki_expiration_message')
      .set({ attempts, next_at_ms })
      .where('mount_id', '=', mount_id)
      .where('channel', '=', channel),
  );

/** Mounts for whose receiver something is due by a channel, those who wait longest first. */
export async function listDue(
  db: Db,
  channel: Channel,
  { now_ms, limit }: { now_ms: number; limit: number },
): Promise<{ mount_id: string; attempts: number }[]> {
  const rows = await db
    .selectFrom('pki_expiration_message')
    .select(['mount_id', (row) => row.fn.max('attempts').as('attempts')])
    .where('channel', '=', channel)
    .where('next_at_ms', '<=', now_ms)
    .groupBy('mount_id')
    .orderBy(sql`min(next_at_ms)`)
    .limit(limit)
    .execute();
  return rows.map(({ mount_id, attempts }) => ({ mount_id, attempts: Number(attempts) }));
}

/** Ids of the messages that wait for a receiver, the oldest first. */
export async function listWaiting(db: Db, mount_id: string, channel: Channel): Promise<string[]> {
  const rows = await db
    .selectFrom('pki_expiration_message')
    .select('id')
    .where('mount_id', '=', mount_id)
    .where('channel', '=', channel)
    .orderBy('created_at_ms')
    .orderBy('id')
    .execute();
  return rows.map(({ id }) => id);
}

export function findMessage(
  db: Db,
  mount_id: string,
  channel: Channel,
  id: string,
): Promise<MessageRow | undefined> {
  return db
    .selectFrom('pki_expiration_message')
    .selectAll()
    .where('mount_id', '=', mount_id)
    .where('channel', '=', channel)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** How many messages wait for a receiver, and how often it was tried in vain. */
export async function readWaiting(
  db: Db,
  mount_id: string,
  channel: Channel,
): Promise<{ count: number; attempts: number; next_at_ms: number }> {
  const row = await db
    .selectFrom('pki_expiration_message')
    .select((of) => [
      of.fn.countAll().as('count'),
      of.fn.max('attempts').as('attempts'),
      of.fn.max('next_at_ms').as('next_at_ms'),
    ])
    .where('mount_id', '=', mount_id)
    .where('channel', '=', channel)
    .executeTakeFirst();
  const { count = 0, attempts = 0, next_at_ms = 0 } = row ?? {};
  return { count: Number(count), attempts: Number(attempts), next_at_ms: Number(next_at_ms) };
}

/** Messages on their way, of all mounts. */
export async function countWaiting(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('pki_expiration_message')
    .select(['channel', (row) => row.fn.countAll().as('count')])
    .groupBy('channel')
    .execute();
  return new Map(rows.map(({ channel, count }) => [channel, Number(count)]));
}
