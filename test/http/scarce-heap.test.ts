// While the heap is scarce few requests of a network go on at once; others' are answered as ever.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import v8 from 'node:v8';
import { headOf, openTalk, type Talk } from '../support/raw-talk.ts';
import { type Client, startTestServer } from '../support/server.ts';

const BODY = '{"num_uses": 0}';
const AUTH = 'X-Vault-Token: root';

/** Asks for a token and keeps the body back: the request is under way until it comes. */
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

for (const [is, part, waits] of [
  ['scarce', 0.56, true],
  ['not scarce', 0.54, false],
] as const) {
  test(`where the heap is ${is}, one of a network with much under way ${waits ? 'waits' : 'is answered'}`, async (t) => {
    const client = await startTestServer(t);
    const statistics = v8.getHeapStatistics();
    t.mock.method(v8, 'getHeapStatistics', () => ({
      ...statistics,
      used_heap_size: part * statistics.heap_size_limit,
    }));
    const many: Talk[] = [];
    for (let at = 0; at < 24; at += 1) many.push(await beginLong(client, '127.0.1.1'));
    const near = await lookUp(client, '127.0.1.2');
    const elsewhere = await lookUp(client, '127.0.2.1');
    await elsewhere.answers(1);
    if (waits) assert.equal(near.text(), '');
    else await near.answers(1);
    for (const { socket } of many) socket.write(BODY);
    for (const talk of [...many, near, elsewhere]) {
      await talk.answers(1);
      assert.match(talk.text(), /^HTTP\/1\.1 200 /);
      talk.socket.destroy();
    }
  });
}
