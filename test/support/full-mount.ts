import assert from 'node:assert/strict';
import { sql } from 'kysely';
import { bumpConfigVersion } from '../../src/store/config-version.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { type Changes, copyRow } from './many-rows.ts';
import type { Client } from './server.ts';

/** An id of its own for each copy of an issuer or a key, in the form of one. */
const copiedId = sql<string>`(10000000 + n.i) || substr(id, 9)`;

/** Puts copies of an issuer of this name into its mount: what it takes a thousand requests to make. */
export function copyIssuer(client: Client, name: string, copies: number, changes: Changes = {}) {
  const given: Changes = { id: copiedId, name: sql`'i' || n.i`, ...changes };
  return copyRow(client.running.app.store, 'pki_issuer', {
    of: { name },
    copies,
    changes: given,
  });
}

export function copyKey(client: Client, name: string, copies: number): Promise<void> {
  const changes = { id: copiedId, name: sql`'k' || n.i` };
  return copyRow(client.running.app.store, 'pki_key', { of: { name }, copies, changes });
}

/** Changes the settings of an issuer as an earlier program could have stored them. */
export async function storeSettings(client: Client, name: string, settings: object): Promise<void> {
  const { store } = client.running.app;
  const row = await store.db
    .selectFrom('pki_issuer')
    .select(['id', 'body'])
    .where('name', '=', name)
    .executeTakeFirst();
  assert.ok(row);
  const body = JSON.stringify({ ...JSON.parse(row.body), ...settings });
  const save = build.updateTable('pki_issuer').set({ body }).where('id', '=', row.id);
  await store.commit([write(save, { rows: 1 }), bumpConfigVersion()]);
}

/** A list of URLs of so many characters in all. */
export function urlsOf(characters: number): string[] {
  const urls: string[] = [];
  for (let left = characters; left > 0; left -= 1000) {
    urls.push('http://a.test/'.padEnd(Math.min(left, 1000), 'x'));
  }
  return urls;
}
