/** Request headers that audit records tell, as `sys/config/auditing/request-headers` says. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { hashSecret } from '../../src/audit/operations.ts';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { eachPlace } from '../support/engines.ts';
import { storageOf } from '../support/seeded-broker.ts';
import { type Client, startTestServer } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';

const client = await startTestServer({ after });
const { call } = client;
const BASE = 'sys/config/auditing/request-headers';

interface Recorded {
  path: string;
  operation: string;
  headers?: Record<string, string[]>;
}

/** What the last record of a path tells of its request. */
async function lastOf({ running }: Client, path: string): Promise<Recorded> {
  await writeRecords(running);
  const rows = await listRecordsAfter(running.app.db, { node: 'local', seq: 0, limit: 10_000 });
  const requests = rows.map(({ record }): Recorded | undefined => JSON.parse(record).request);
  return requests.findLast((request) => request?.path === path) ?? assert.fail(path);
}

test('headers are configured, read and taken away by their names, in either case', async () => {
  assert.deepEqual((await call('GET', BASE)).field('data.headers'), {});
  assert.equal((await call('POST', `${BASE}/X-One`, { hmac: true })).status, 204);
  assert.equal((await call('PUT', `${BASE}/x-two`)).status, 204);
  assert.deepEqual((await call('GET', BASE)).field('data.headers'), {
    'x-one': { hmac: true },
    'x-two': { hmac: false },
  });
  const read = await call('GET', `${BASE}/X-ONE`);
  assert.deepEqual(read.field('data'), { 'X-ONE': { hmac: true } });
  await call('POST', `${BASE}/x-ONE`, { hmac: false });
  assert.deepEqual((await call('GET', `${BASE}/x-one`)).field('data'), {
    'x-one': { hmac: false },
  });
  for (let turn = 0; turn < 2; turn++) {
    assert.equal((await call('DELETE', `${BASE}/X-One`)).status, 204);
  }
  const gone = await call('GET', `${BASE}/x-one`);
  assert.equal(gone.status, 400);
  assert.match(gone.text, /Could not find header in config/);
  assert.equal((await call('POST', `${BASE}/not a name`.replaceAll(' ', '%20'))).status, 400);
  await call('DELETE', `${BASE}/x-two`);
});

test('records tell the headers that are configured, and no others', async () => {
  await call('POST', `${BASE}/x-plain`, { hmac: false });
  await call('POST', `${BASE}/x-hashed`, { hmac: true });
  await call('POST', `${BASE}/x-vault-token`, { hmac: false });
  const headers = { 'x-plain': 'hello', 'x-hashed': 'secret', 'x-other': 'nothing' };
  const { app } = client.running;
  const told = {
    'x-plain': ['hello'],
    'x-hashed': [hashSecret(app, 'secret')],
    'x-vault-token': [hashSecret(app, 'root')],
  };
  await call('POST', 'demo/roles/r', { allow_any_name: true }, { headers });
  assert.deepEqual((await lastOf(client, 'demo/roles/r')).headers, told, 'a change');
  await call('GET', 'demo/roles/r', undefined, { headers });
  assert.deepEqual((await lastOf(client, 'demo/roles/r')).headers, told, 'a read');
  await call('GET', 'demo/roles/none', undefined, { headers, token: '' });
  const { 'x-vault-token': _, ...others } = told;
  assert.deepEqual((await lastOf(client, 'demo/roles/none')).headers, others, 'a refusal');
  await call('GET', 'demo/roles/r');
  assert.deepEqual(Object.keys((await lastOf(client, 'demo/roles/r')).headers ?? {}), [
    'x-vault-token',
  ]);
  for (const name of ['x-plain', 'x-hashed', 'x-vault-token'])
    await call('DELETE', `${BASE}/${name}`);
  await call('GET', 'demo/roles/r', undefined, { headers });
  assert.equal((await lastOf(client, 'demo/roles/r')).headers, undefined);
});

test('an unauthenticated refused request has a short record, whatever its headers', async () => {
  await call('POST', `${BASE}/x-plain`);
  const headers = Object.fromEntries([['x-plain', 'y'.repeat(1000)]]);
  const long = { headers: { ...headers, 'user-agent': 'z'.repeat(1000) }, token: '' };
  await call('POST', `${BASE}/user-agent`);
  await call('GET', 'demo/roles/nobody', undefined, long);
  assert.equal((await lastOf(client, 'demo/roles/nobody')).headers, undefined);
  const short = { headers: { 'x-plain': 'y'.repeat(100), 'user-agent': 'z' }, token: '' };
  await call('GET', 'demo/roles/nobody', undefined, short);
  assert.deepEqual((await lastOf(client, 'demo/roles/nobody')).headers, {
    'x-plain': ['y'.repeat(100)],
    'user-agent': ['z'],
  });
  for (const name of ['x-plain', 'user-agent']) await call('DELETE', `${BASE}/${name}`);
});

test('who may configure them has sudo there, and there are not too many', async () => {
  const policy = (...capabilities: string[]): string =>
    `path "${BASE}*" { capabilities = ${JSON.stringify(capabilities)} }\npath "${BASE}/x-no" { capabilities = ["deny"] }`;
  const tokenOf = async (name: string, text: string): Promise<string> => {
    await call('PUT', `sys/policies/acl/${name}`, { policy: text });
    const body = { policies: [name], no_default_policy: true };
    return (await call('POST', 'auth/token/create', body)).textAt('auth.client_token');
  };
  const weak = await tokenOf('weak', policy('read', 'update', 'delete'));
  const strong = await tokenOf('strong', policy('read', 'update', 'delete', 'sudo'));
  for (const [method, path] of [
    ['GET', BASE],
    ['POST', `${BASE}/x-a`],
    ['DELETE', `${BASE}/x-a`],
  ] as const) {
    assert.equal((await call(method, path, undefined, { token: weak })).status, 403, method);
    const done = await call(method, path, undefined, { token: strong });
    assert.ok(done.status < 300, done.text);
  }
  assert.equal((await call('POST', `${BASE}/X-No`, {}, { token: strong })).status, 403);
  for (let at = 0; at < 100; at++) await call('POST', `${BASE}/x-${at}`);
  const many = await call('POST', `${BASE}/x-more`);
  assert.equal(many.status, 400);
  assert.match(many.text, /at most 100 headers/);
  assert.equal((await call('POST', `${BASE}/x-0`, { hmac: true })).status, 204);
});

eachPlace('headers of audit records', (newPlace) => {
  test('are a hundred at most, also of those that are added at once', async (t) => {
    const storage = storageOf(await newPlace());
    const { call } = await startTestServer(t, { config: { storage }, jobs: [] });
    const added = await Promise.all(
      Array.from({ length: 130 }, (_, at) => call('POST', `${BASE}/x-${at}`)),
    );
    const refused = added.filter(({ status }) => status !== 204);
    assert.equal(refused.length, 30);
    for (const { status, text } of refused) {
      assert.equal(status, 400);
      assert.match(text, /at most 100 headers/);
    }
    const kept = (await call('GET', BASE)).field('data.headers') as object;
    assert.equal(Object.keys(kept).length, 100);
    // What is there already is changed, and takes no room.
    const [name] = Object.keys(kept);
    assert.equal((await call('POST', `${BASE}/${name}`, { hmac: true })).status, 204);
  });
});
