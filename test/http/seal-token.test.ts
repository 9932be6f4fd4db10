/** The token of a transit seal is renewed before it ends, or people hear that it will. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { type FakeTransit, startFakeTransit } from '../support/fake-transit.ts';
import { inReverse } from '../support/node-process.ts';
import { type Client, startTestServer } from '../support/server.ts';

interface Bench {
  fake: FakeTransit;
  client: Client;
  /** Of the log, as it was written. */
  lines: string[];
}

async function open(
  t: TestContext,
  token: FakeTransit['token'],
  denied: FakeTransit['denied'] = new Set(),
): Promise<Bench> {
  const scope = inReverse(t);
  const fake = await startFakeTransit(scope);
  Object.assign(fake, { token, denied });
  const lines: string[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
  const config = { mode: 'server' as const, dev_root_token: undefined, seal: fake.settings };
  const client = await startTestServer(scope, { config, log });
  t.after(() => {
    assert.ok(!lines.join('').includes(fake.settings.token), 'the log does not have the token');
  });
  return { fake, client, lines };
}

async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await what()); tries += 1) {
    assert.ok(tries < 100, String(what));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const warningsOf = async ({ client }: Bench) =>
  ((await client.call('GET', 'sys/seal-status')).field('warnings') as string[] | undefined) ?? [];
const told = ({ lines }: Bench, phrase: string): boolean =>
  lines.some((line) => line.includes(phrase));

test('a periodic token is renewed again and again, sealed or not, and that is logged', async (t) => {
  const bench = await open(t, { ttl: 2, period: 2, renewable: true });
  await until(() => bench.fake.renewals >= 3);
  assert.ok(told(bench, 'was renewed'));
  assert.deepEqual(await warningsOf(bench), []);
});

test('a token that cannot be renewed is warned about, in the log with its end', async (t) => {
  const bench = await open(t, { ttl: 3600, period: 3600, renewable: false });
  await until(() => told(bench, 'cannot be renewed'));
  assert.ok(told(bench, '"ends_at":"20'));
  const [warning] = await warningsOf(bench);
  assert.match(warning ?? '', /ends and cannot be renewed/);
  assert.equal(bench.fake.renewals, 0);
});

test('a token that does not end is left alone', async (t) => {
  const bench = await open(t, { ttl: null, period: 0, renewable: false });
  await until(() => bench.fake.asked > 0);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.deepEqual([bench.fake.renewals, bench.lines.length], [0, 0]);
});

test('an engine that cannot be reached, and then has ended the token, is told of once each', async (t) => {
  const bench = await open(t, { ttl: 2, period: 2, renewable: true });
  await until(() => bench.fake.renewals > 0);
  bench.fake.instead = { status: 503, body: '{}' };
  await until(async () => /cannot be reached/.test((await warningsOf(bench))[0] ?? ''));
  bench.fake.instead = undefined;
  await until(() => told(bench, 'in order again'));
  assert.deepEqual(await warningsOf(bench), []);
  bench.fake.instead = { status: 403, body: '{"errors":["permission denied"]}' };
  await until(async () => /does not take the token/.test((await warningsOf(bench))[0] ?? ''));
  assert.equal(bench.lines.filter((line) => line.includes('cannot be reached')).length, 1);
});

const unattended = ['lookup-self', 'renew-self'] as const;
for (const [what, denied, phrase] of [
  ['may not be looked after, but does its work', unattended, /may neither be looked up nor/],
  ['may not encrypt any more', ['encrypt'], /does not take the token/],
  ['may not decrypt any more', ['decrypt'], /does not take the token/],
  ['may do nothing but encrypt', ['decrypt', ...unattended], /does not take the token/],
] as const) {
  test(`a token that ${what} is told of as such`, async (t) => {
    const bench = await open(t, { ttl: 2, period: 2, renewable: true });
    await until(() => bench.fake.renewals > 0);
    bench.fake.denied = new Set(denied);
    await until(async () => (await warningsOf(bench)).length > 0);
    const [warning = ''] = await warningsOf(bench);
    assert.match(warning, phrase);
    assert.equal(/at its next start/.test(warning), denied !== unattended);
  });
}

test('a token that does not do its work is renewed all the same, and is in order once it does', async (t) => {
  const bench = await open(t, { ttl: 2, period: 2, renewable: true });
  bench.fake.denied.add('decrypt');
  await until(() => bench.fake.renewals >= 3);
  assert.match((await warningsOf(bench))[0] ?? '', /does not take the token/);
  bench.fake.denied.clear();
  await until(async () => (await warningsOf(bench)).length === 0);
  assert.ok(told(bench, 'in order again'));
});

test('a token that never ends and does not do its work is told of', async (t) => {
  const bench = await open(t, { ttl: null, period: 0, renewable: false }, new Set(['encrypt']));
  await until(async () => /does not take the token/.test((await warningsOf(bench))[0] ?? ''));
});

test('a token that may not look itself up is renewed all the same', async (t) => {
  const bench = await open(t, { ttl: 2, period: 2, renewable: true });
  bench.fake.denied.add('lookup-self');
  await until(() => bench.fake.renewals >= 3);
  assert.deepEqual(await warningsOf(bench), []);
});
