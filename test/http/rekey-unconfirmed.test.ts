// A database that confirms nothing may have written all the same: the shares of a new key that may be
// in force are not lost with the answer.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Failure } from '../../src/core/failure.ts';
import type { Store } from '../../src/store/store.ts';
import type { Effect } from '../../src/store/write.ts';
import { newDirectory } from '../support/node-process.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

const isNewSeal = (effects: readonly Effect[]): boolean =>
  effects.some((one) => 'sql' in one && /^update "seal" set .*"root_key_sealed"/.test(one.sql));

const unconfirmed = (): Failure =>
  new Failure('unavailable', 'the database did not confirm the write');

interface Bench {
  client: Client;
  keys: string[];
  root: string;
  /** What the database does with the next seals, one after another. */
  will: ('write and fail' | 'fail')[];
}

async function open(t: TestContext): Promise<Bench> {
  const will: Bench['will'] = [];
  const store = (real: Store): Store => ({
    ...real,
    commit: async (effects) => {
      const next = isNewSeal(effects) ? will.shift() : undefined;
      if (next !== 'fail') await real.commit(effects);
      if (next !== undefined) throw unconfirmed();
    },
  });
  const directory = newDirectory(t);
  const config = {
    mode: 'server' as const,
    dev_root_token: undefined,
    storage: { type: 'sqlite' as const, directory },
    seal: { type: 'shamir' as const },
  };
  const client = await startTestServer(t, { config, store });
  const made = await put(client, 'sys/init', { secret_shares: 2, secret_threshold: 2 });
  const keys = listOf(made, 'keys');
  await give(client, 'sys/unseal', keys);
  return { client, keys, root: made.textAt('root_token'), will };
}

const put = (client: Client, path: string, body: object, token = ''): Promise<Reply> =>
  client.call('PUT', path, body, { token });

async function give(client: Client, path: string, keys: string[], nonce = ''): Promise<Reply> {
  const replies: Reply[] = [];
  for (const key of keys) replies.push(await put(client, path, { key, nonce }));
  const last = replies.at(-1);
  assert.ok(last);
  return last;
}

function listOf(reply: Reply, name: string): string[] {
  const list = reply.field(name);
  assert.ok(Array.isArray(list), reply.text);
  return list.map(String);
}

const begin = async ({ client }: Bench): Promise<string> =>
  (await put(client, 'sys/rekey/init', { secret_shares: 3, secret_threshold: 2 })).textAt('nonce');

/** Whether these are the shares of the key in force. */
async function unseals({ client, root }: Bench, keys: string[]): Promise<boolean> {
  await put(client, 'sys/seal', {}, root);
  return (await give(client, 'sys/unseal', keys.slice(0, 2))).field('sealed') === false;
}

const CASES: [what: string, will: Bench['will']][] = [
  ['was written', ['write and fail']],
  ['was not written', ['fail']],
  ['was not written twice, and then was', ['fail', 'fail', 'write and fail']],
];
for (const [what, will] of CASES) {
  test(`a rekeying that nobody confirmed, and that ${what}, is answered with the shares in force`, async (t) => {
    const bench = await open(t);
    const nonce = await begin(bench);
    bench.will.push(...will);
    const done = await give(bench.client, 'sys/rekey/update', bench.keys, nonce);
    assert.equal(done.status, 200, done.text);
    assert.ok(await unseals(bench, listOf(done, 'keys')));
  });
}

test('shares that may be in force wait until the present ones are shown once more, and nobody puts them aside', async (t) => {
  const bench = await open(t);
  const { client, keys, root } = bench;
  const nonce = await begin(bench);
  bench.will.push('write and fail');
  // Then it is not even there to be asked.
  bench.will.push(...Array.from({ length: 20 }, () => 'fail' as const));
  const lost = await give(client, 'sys/rekey/update', keys, nonce);
  assert.equal(lost.status, 503, lost.text);
  bench.will.length = 0;
  const body = { nonce, secret_shares: 1, secret_threshold: 1, key: keys[0] };
  assert.equal((await put(client, 'sys/rekey/init', body)).status, 400);
  assert.equal(
    (await client.call('DELETE', 'sys/rekey/init', { nonce }, { token: root })).status,
    400,
  );
  const done = await give(client, 'sys/rekey/update', keys, nonce);
  assert.equal(done.status, 200, done.text);
  assert.ok(await unseals(bench, listOf(done, 'keys')));
});
