/** What goes on for clients that have gone. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAuditEntry } from '../../src/store/write.ts';
import { headOf, openTalk, type Talk, until } from '../support/raw-talk.ts';
import { type Client, startTestServer } from '../support/server.ts';

const ATTEMPTS = 640;
const TOGETHER = 64;
/** As documented. */
const MOST = 512;

const writeSomething = (client: Client, body: string): string =>
  headOf(client, 'PUT /v1/cubbyhole/x', [
    'X-Vault-Token: root',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ]) + body;

/** So many at the same time: each is begun, or refused, before they go. */
async function askAndGo(client: Client, begun: () => number): Promise<void> {
  const before = begun();
  const talks = await Promise.all(
    Array.from({ length: TOGETHER }, () => openTalk(client, '127.0.1.1')),
  );
  for (const { socket } of talks) socket.write(writeSomething(client, '{"a":"b"}'));
  const refused = (): number => talks.filter((talk) => talk.text() !== '').length;
  await until(() => begun() - before + refused() >= TOGETHER);
  for (const { socket } of talks) socket.destroy();
  await until(() => client.running.http.countConnections() === 0);
}

const answerOf = async (talk: Talk): Promise<string> => {
  await talk.answers(1);
  talk.socket.destroy();
  return talk.text();
};

test('who asks and goes, again and again, has no more and more done, and others are answered', async (t) => {
  const client = await startTestServer(t, { on_one: 'the listener is looked into' });
  const { store } = client.running.app;
  const { commit } = store;
  const written = Promise.withResolvers<void>();
  let begun = 0;
  // A database that takes its time.
  store.commit = async (effects) => {
    if (effects.some((one) => !isAuditEntry(one) && one.sql.includes('cubbyhole'))) begun += 1;
    await written.promise;
    return commit.call(store, effects);
  };
  try {
    for (let at = 0; at < ATTEMPTS; at += TOGETHER) await askAndGo(client, () => begun);
    assert.equal(begun, MOST);
    const same = await openTalk(client, '127.0.1.1');
    same.socket.write(headOf(client, 'GET /v1/sys/mounts', ['X-Vault-Token: root']));
    const refused = await answerOf(same);
    assert.match(refused, /^HTTP\/1\.1 429 /);
    assert.match(refused, /retry-after: 1/i);
    const other = await openTalk(client, '127.0.2.1');
    other.socket.write(headOf(client, 'GET /v1/sys/mounts', ['X-Vault-Token: root']));
    assert.match(await answerOf(other), /^HTTP\/1\.1 200 /);
  } finally {
    store.commit = commit;
    written.resolve();
  }
  let answer = '';
  while (!answer.startsWith('HTTP/1.1 200 ')) {
    const again = await openTalk(client, '127.0.1.1');
    again.socket.write(headOf(client, 'GET /v1/sys/mounts', ['X-Vault-Token: root']));
    answer = await answerOf(again);
  }
});
