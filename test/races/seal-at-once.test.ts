// A sealing that was acknowledged stays, whatever unsealing was under way when it came.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { CommitHolder } from '../support/held-commit.ts';
import { type Client, callOver, startTestServer } from '../support/server.ts';

const sealedBy = (seal: Config['seal']): Partial<Config> => ({
  mode: 'server',
  dev_root_token: undefined,
  seal,
});

const NO_TOKEN = { token: '' };

async function isSealed({ call }: Client): Promise<unknown> {
  return (await call('GET', 'sys/seal-status', undefined, NO_TOKEN)).field('sealed');
}

interface Bench {
  client: Client;
  root: Client['call'];
  keys: string[];
  holder: CommitHolder;
}

async function startSealed(t: TestContext, shares: number): Promise<Bench> {
  const holder = new CommitHolder();
  const client = await startTestServer(t, {
    store: holder.over,
    config: sealedBy({ type: 'shamir' }),
  });
  const body = { secret_shares: shares, secret_threshold: shares };
  const made = await client.call('PUT', 'sys/init', body, NO_TOKEN);
  const keys = made.field('keys');
  assert.ok(Array.isArray(keys), made.text);
  return { client, root: callOver(client.url, made.textAt('root_token')), keys, holder };
}

test('an unsealing that is written after a sealing leaves the server sealed', async (t) => {
  const { client, root, keys, holder } = await startSealed(t, 1);
  const [key] = keys;
  const unseal = () => client.call('PUT', 'sys/unseal', { key }, NO_TOKEN);
  const held = holder.hold('sys/unseal');
  const first = unseal();
  await held.reached;
  assert.equal((await unseal()).field('sealed'), false, 'the client repeats it');
  assert.equal((await root('PUT', 'sys/seal')).status, 204);
  held.letGo();
  const late = await first;
  assert.equal(late.status, 400, late.text);
  assert.match(late.text, /the server was sealed meanwhile/);
  assert.equal(await isSealed(client), true);
  assert.equal((await root('GET', 'auth/token/lookup-self')).status, 503);
  assert.equal((await unseal()).field('sealed'), false, 'one that begins afterwards opens it');
});

test('a share that came before a sealing is none of the next unsealing', async (t) => {
  const { client, root, keys, holder } = await startSealed(t, 2);
  const give = (key: string | undefined) => client.call('PUT', 'sys/unseal', { key }, NO_TOKEN);
  const [one, two] = keys;
  const held = holder.hold('sys/unseal', 'record');
  const first = give(one);
  await held.reached;
  await give(one);
  assert.equal((await give(two)).field('sealed'), false);
  assert.equal((await root('PUT', 'sys/seal')).status, 204);
  held.letGo();
  const late = await first;
  assert.equal(late.status, 400, late.text);
  assert.equal((await give(two)).field('progress'), 1);
  assert.equal(await isSealed(client), true);
});

test('a share that came while the others opened the server is none of the next unsealing', async (t) => {
  const { client, root, keys, holder } = await startSealed(t, 2);
  const give = (key: string | undefined) => client.call('PUT', 'sys/unseal', { key }, NO_TOKEN);
  const [one, two] = keys;
  await give(one);
  const held = holder.hold('sys/unseal');
  const last = give(two);
  await held.reached;
  // Sent once more, as nobody has answered yet.
  assert.equal((await give(one)).field('progress'), 1);
  held.letGo();
  assert.equal((await last).field('sealed'), false);
  assert.equal((await root('PUT', 'sys/seal')).status, 204);
  const status = await client.call('GET', 'sys/seal-status', undefined, NO_TOKEN);
  assert.equal(status.field('progress'), 0);
  assert.equal((await give(two)).field('sealed'), true);
  assert.equal((await give(one)).field('sealed'), false);
});

test('a sealing that comes after the unsealing seals the server, and the other way about', async (t) => {
  const { client, root, keys } = await startSealed(t, 1);
  const unseal = () => client.call('PUT', 'sys/unseal', { key: keys[0] }, NO_TOKEN);
  assert.equal((await unseal()).field('sealed'), false);
  assert.equal((await unseal()).field('sealed'), false, 'of an open server it is its status');
  assert.equal((await root('PUT', 'sys/seal')).status, 204);
  assert.equal(await isSealed(client), true);
  assert.equal((await unseal()).field('sealed'), false);
  assert.equal((await root('GET', 'auth/token/lookup-self')).status, 200);
});
