// While the heap is scarce few requests of a network go on at once; whoever keeps a body back keeps no place from others.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import v8 from 'node:v8';
import { ScarceHeap } from '../../src/core/fairness/scarce-heap.ts';
import { headOf, openTalk, type Talk } from '../support/raw-talk.ts';
import { type Client, startTestServer } from '../support/server.ts';

const BODY = '{"num_uses": 0}';
const AUTH = 'X-Vault-Token: root';

/** Asks for a token and keeps the body back. */
async function beginLong(client: Client, from: string): Promise<Talk> {
  const talk = await openTalk(client, from);
  const fields = [AUTH, `Content-Length: ${BODY.length}`];
  talk.socket.write(headOf(client, 'POST /v1/auth/token/create', fields));
  return talk;
}

async function lookUp(client: Client, from: string): Promise<Talk> {
  const talk = await openTalk(client, from);
  talk.socket.write(headOf(client, 'GET /v1/auth/token/lookup-self', [AUTH]));
  return talk;
}

test('where the heap is scarce, requests are let on once their bodies are there, and all are answered', async (t) => {
  const client = await startTestServer(t, { on_one: 'what the program does is counted' });
  const talks: Talk[] = [];
  t.after(() => {
    for (const { socket } of talks) socket.destroy();
  });
  const statistics = v8.getHeapStatistics();
  const used_heap_size = 0.56 * statistics.heap_size_limit;
  t.mock.method(v8, 'getHeapStatistics', () => ({ ...statistics, used_heap_size }));
  const passes = t.mock.method(ScarceHeap.prototype, 'passFirst');
  for (let at = 0; at < 40; at += 1) talks.push(await beginLong(client, '127.0.1.1'));
  const others = [await lookUp(client, '127.0.1.2'), await lookUp(client, '127.0.2.1')];
  for (const talk of others) await talk.answers(1);
  assert.equal(passes.mock.callCount(), 2);
  for (const { socket } of talks) socket.write(BODY);
  talks.push(...others);
  for (const talk of talks) {
    await talk.answers(1);
    assert.match(talk.text(), /^HTTP\/1\.1 200 /);
  }
  assert.equal(passes.mock.callCount(), 42);
});
