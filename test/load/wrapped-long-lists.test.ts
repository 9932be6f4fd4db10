/** Long lists that are wrapped are read whole first, a few at a time. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { listInTurn } from '../../src/access/concurrency/walks.operations.ts';
import { build } from '../../src/store/database.ts';
import { write } from '../../src/store/write.ts';
import { recordFrom } from '../support/caller-record.ts';
import { headOf, openTalk, type Talk } from '../support/raw-talk.ts';
import { type Client, startTestServer } from '../support/server.ts';

const COUNT = 2500;

/** Copies of the one token that there is. */
async function makeTokens({ running }: Client): Promise<void> {
  const { db, store } = running.app;
  const row = await db.selectFrom('token').selectAll().executeTakeFirstOrThrow();
  const copies = Array.from({ length: COUNT }, (_, at) =>
    write(build.insertInto('token').values({ ...row, id: `copy${at}`, accessor: `copy${at}` })),
  );
  await store.commit(copies);
}

/** Has all turns of an address at reading further pages taken; returns what gives them back. */
function takePages({ running }: Client, remote_address: string): () => void {
  const end = Promise.withResolvers<void>();
  const caller = { record: recordFrom(remote_address) };
  const list = { isLong: true, isKnown: true, make: () => end.promise };
  for (let at = 0; at < 2; at++) void listInTurn(running.app, caller, list);
  return end.resolve;
}

async function askWrapped(client: Client, from: string): Promise<Talk> {
  const talk = await openTalk(client, from);
  const fields = ['X-Vault-Token: root', 'X-Vault-Wrap-TTL: 60'];
  talk.socket.write(headOf(client, 'LIST /v1/auth/token/accessors', fields));
  return talk;
}

test('lists of one network that are long in being read keep no place from those of another', async (t) => {
  const client = await startTestServer(t, { on_one: 'turns are taken within it' });
  await makeTokens(client);
  const giveBack = takePages(client, '127.0.1.1');
  const slow = await Promise.all(Array.from({ length: 4 }, () => askWrapped(client, '127.0.1.1')));
  const other = await askWrapped(client, '127.0.2.1');
  await other.answers(1);
  assert.match(other.text(), /^HTTP\/1\.1 200 /);
  for (const talk of slow) assert.equal(talk.text(), '');
  giveBack();
  await Promise.all(slow.map((talk) => talk.answers(1)));
  for (const { socket } of [...slow, other]) socket.destroy();
});

test('answers that wait to be wrapped come to some megabytes of one address', async (t) => {
  const client = await startTestServer(t, { on_one: 'turns are taken within it' });
  await makeTokens(client);
  const giveBack = takePages(client, '127.0.1.1');
  await client.call('POST', 'cubbyhole/long', { text: 'x'.repeat(1_000_000) });
  const slow = await askWrapped(client, '127.0.1.1');
  const fields = ['X-Vault-Token: root', 'X-Vault-Wrap-TTL: 60'];
  const many = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const talk = await openTalk(client, '127.0.1.1');
      talk.socket.write(headOf(client, 'GET /v1/cubbyhole/long', fields));
      return talk;
    }),
  );
  const isRefused = (talk: Talk): boolean => /^HTTP\/1\.1 429 /.test(talk.text());
  while (many.filter(isRefused).length < 4) await nextTurn();
  giveBack();
  await Promise.all([slow, ...many].map((talk) => talk.answers(1)));
  assert.equal(many.filter(isRefused).length, 4);
  for (const { socket } of [slow, ...many]) socket.destroy();
});
