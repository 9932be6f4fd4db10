// A database that confirms nothing may have written all the same: whatever it did, somebody has shares that
// open the server, also when it is sealed or killed right then.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Failure } from '../../src/core/failure.ts';
import type { Store } from '../../src/store/store.ts';
import type { Effect } from '../../src/store/write.ts';
import { newDirectory } from '../support/node-process.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

const isNewSeal = (effects: readonly Effect[]): boolean =>
  effects.some((one) => 'sql' in one && /^update "seal" set .*"root_key_sealed"/.test(one.sql));

const isNextSeal = (effects: readonly Effect[]): boolean =>
  effects.some((one) => 'sql' in one && /^insert into "seal_next"/.test(one.sql));

const unconfirmed = (): Failure =>
  new Failure('unavailable', 'the database did not confirm the write');

interface Bench {
  client: Client;
  keys: string[];
  root: string;
  /** What the database does with the next seals, one after another. */
  will: Will[];
  /** And with those that are stored beside the one in force. */
  before: Will[];
}

type Will = 'write and fail' | 'fail';

async function open(t: TestContext): Promise<Bench> {
  const will: Will[] = [];
  const before: Will[] = [];
  const store = (real: Store): Store => ({
    ...real,
    commit: async (effects) => {
      const from = isNewSeal(effects) ? will : isNextSeal(effects) ? before : [];
      const next = from.shift();
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
  return { client, keys, root: made.textAt('root_token'), will, before };
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
    assert.equal(done.field('warnings'), undefined);
    assert.ok(await unseals(bench, listOf(done, 'keys')));
  });
}

for (const will of ['write and fail', 'fail'] as const) {
  const what = will === 'fail' ? 'was not' : 'was';
  test(`a new seal that ${what} stored beside the old one, unconfirmed, leaves the present shares as they are`, async (t) => {
    const bench = await open(t);
    const nonce = await begin(bench);
    bench.before.push(will);
    const lost = await give(bench.client, 'sys/rekey/update', bench.keys, nonce);
    assert.equal(lost.status, 503, lost.text);
    assert.ok(await unseals(bench, bench.keys));
    const again = await give(bench.client, 'sys/rekey/update', bench.keys, await begin(bench));
    assert.equal(again.status, 200, again.text);
    assert.ok(await unseals(bench, listOf(again, 'keys')));
    assert.ok(!(await unseals(bench, bench.keys)), 'the former ones are none any more');
  });

  test(`new shares of which nobody knows whether they are in force, which they ${what === 'was' ? 'are' : 'are not'}, unseal`, async (t) => {
    const bench = await open(t);
    const keys = await rekeyUnconfirmed(bench, will);
    assert.ok(await unseals(bench, keys));
    assert.ok(!(await unseals(bench, bench.keys)), 'the former ones are none any more');
    assert.ok(await unseals(bench, keys));
  });
}

/** The new shares, of which the database confirms nothing from then on. */
async function rekeyUnconfirmed(bench: Bench, will: Will): Promise<string[]> {
  const nonce = await begin(bench);
  bench.will.push(will, ...Array.from({ length: 20 }, () => 'fail' as const));
  const done = await give(bench.client, 'sys/rekey/update', bench.keys, nonce);
  assert.equal(done.status, 200, done.text);
  assert.match(listOf(done, 'warnings').join(), /^the database did not confirm/);
  bench.will.length = 0;
  return listOf(done, 'keys');
}

test('until one of the new shares is shown the former ones go on, and a strange one shows nothing', async (t) => {
  const bench = await open(t);
  const keys = await rekeyUnconfirmed(bench, 'fail');
  await put(bench.client, 'sys/seal', {}, bench.root);
  const strange = Buffer.alloc(33, 7).toString('hex');
  assert.equal((await put(bench.client, 'sys/unseal', { key: strange })).status, 400);
  assert.ok(await unseals(bench, bench.keys));
  assert.ok(await unseals(bench, keys));
});

for (const [what, path] of [
  ['another rekeying', 'sys/rekey'],
  ['a root generation', 'sys/generate-root'],
] as const) {
  test(`new shares that are not in force yet authorise ${what}`, async (t) => {
    const bench = await open(t);
    const { client } = bench;
    const keys = (await rekeyUnconfirmed(bench, 'fail')).slice(0, 2);
    const start = path === 'sys/rekey' ? `${path}/init` : `${path}/attempt`;
    const body = path === 'sys/rekey' ? { secret_shares: 3, secret_threshold: 2 } : {};
    const nonceOf = async (): Promise<string> => (await put(client, start, body)).textAt('nonce');
    const first = await put(client, `${path}/update`, { key: keys[0], nonce: await nonceOf() });
    assert.equal(first.status, 400, 'the keys are others now: start over');
    const done = await give(client, `${path}/update`, keys, await nonceOf());
    assert.equal(done.field('complete'), true, done.text);
  });
}
