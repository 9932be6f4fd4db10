import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../support/server.ts';

test('each token has storage of its own: no other reaches it, a root token neither', async (t) => {
  const { call } = await startTestServer(t);
  const made = await call('POST', 'auth/token/create', { policies: ['default'] });
  const token = made.textAt('auth.client_token');
  const own = { token };
  assert.equal((await call('GET', 'cubbyhole/a', undefined, own)).status, 404);
  assert.equal((await call('POST', 'cubbyhole/a', { v: 1, deep: { x: [] } }, own)).status, 204);
  const read = await call('GET', 'cubbyhole/a', undefined, own);
  assert.deepEqual(read.field('data'), { v: 1, deep: { x: [] } });
  assert.equal((await call('GET', 'cubbyhole/a')).status, 404);
  assert.equal((await call('LIST', 'cubbyhole')).status, 404);
  assert.equal((await call('PUT', 'cubbyhole/a', { v: 2 }, own)).status, 204);
  assert.deepEqual((await call('GET', 'cubbyhole/a', undefined, own)).field('data'), { v: 2 });
  assert.equal((await call('DELETE', 'cubbyhole/a', undefined, own)).status, 204);
  assert.equal((await call('GET', 'cubbyhole/a', undefined, own)).status, 404);
});

test('folders are listed one level at a time', async (t) => {
  const { call } = await startTestServer(t);
  for (const path of ['b', 'a/x', 'a/y/z', 'a0']) {
    assert.equal((await call('POST', `cubbyhole/${path}`, { v: path })).status, 204, path);
  }
  assert.deepEqual((await call('LIST', 'cubbyhole/')).field('data.keys'), ['a/', 'a0', 'b']);
  assert.deepEqual((await call('LIST', 'cubbyhole/a')).field('data.keys'), ['x', 'y/']);
  assert.equal((await call('LIST', 'cubbyhole/b')).status, 404);
});

test('what a token kept is gone with the token', async (t) => {
  const { call, running } = await startTestServer(t);
  const made = await call('POST', 'auth/token/create', { policies: ['default'] });
  const token = made.textAt('auth.client_token');
  await call('POST', 'cubbyhole/a', { v: 1 }, { token });
  await call('POST', 'auth/token/revoke', { token });
  const rows = await running.app.db.selectFrom('cubbyhole').select('path').execute();
  assert.deepEqual(rows, []);
});

test('an entry has fields, and a batch token no storage', async (t) => {
  const { call } = await startTestServer(t);
  const empty = await call('POST', 'cubbyhole/a', {});
  assert.deepEqual([empty.status, empty.field('errors')], [400, ['missing data fields']]);
  const made = await call('POST', 'auth/token/create', { policies: ['default'], type: 'batch' });
  const token = made.textAt('auth.client_token');
  const answer = await call('POST', 'cubbyhole/a', { v: 1 }, { token });
  assert.equal(answer.status, 400, answer.text);
});

test('a token keeps so many entries and no more, also when two are written at once', async (t) => {
  const { call, running } = await startTestServer(t);
  assert.equal((await call('POST', 'cubbyhole/a', { v: 1 })).status, 204);
  const numbers = Array.from({ length: 998 }, (_, i) => `('${i}')`).join(', ');
  await running.app.store.commit([
    {
      sql: `insert into cubbyhole (token_id, path, value_sealed)
        select token_id, n.column1, value_sealed from cubbyhole, (values ${numbers}) as n`,
      parameters: [],
    },
  ]);
  const pair = await Promise.all(
    ['b', 'c'].map((name) => call('POST', `cubbyhole/${name}`, { v: 1 })),
  );
  assert.deepEqual(pair.map(({ status }) => status).sort(), [204, 400]);
  const refused = pair.find(({ status }) => status === 400);
  assert.match(refused?.text ?? '', /at most 1000 entries/);
  assert.equal((await call('POST', 'cubbyhole/a', { v: 2 })).status, 204, 'in place of another');
  assert.equal((await call('DELETE', 'cubbyhole/a')).status, 204);
  assert.equal((await call('POST', 'cubbyhole/d', { v: 1 })).status, 204);
});

test('a token keeps so many bytes and no more', async (t) => {
  const { call } = await startTestServer(t);
  const v = 'x'.repeat(1_040_000);
  for (let i = 0; i < 16; i += 1) {
    assert.equal((await call('POST', `cubbyhole/${i}`, { v })).status, 204);
  }
  const more = await call('POST', 'cubbyhole/more', { v });
  assert.deepEqual([more.status, /at most 16 MiB/.test(more.text)], [400, true]);
  assert.equal((await call('POST', 'cubbyhole/3', { v })).status, 204, 'in place of another');
});

/** A 256th part of what all paths may have. */
const LONG = 4096;

test('paths in a cubbyhole have so many characters and no more, also when two are written at once', async (t) => {
  const { call, running } = await startTestServer(t);
  const pathOf = (name: string): string => name.padEnd(LONG, 'p');
  const write = (path: string, v = 1) => call('POST', `cubbyhole/${path}`, { v });
  assert.equal((await write(pathOf('a'))).status, 204);
  const paths = Array.from({ length: 254 }, (_, at) => `('${pathOf(`${at}-`)}')`).join(', ');
  await running.app.store.commit([
    {
      sql: `insert into cubbyhole (token_id, path, value_sealed)
        select token_id, n.column1, value_sealed from cubbyhole, (values ${paths}) as n`,
      parameters: [],
    },
  ]);
  const pair = await Promise.all(['b', 'c'].map((name) => write(pathOf(name))));
  assert.deepEqual(pair.map(({ status }) => status).sort(), [204, 400]);
  const refused = pair.find(({ status }) => status === 400);
  assert.match(refused?.text ?? '', /path: .* at most 1048576 characters/);
  assert.equal((await write('d')).status, 400);
  assert.equal((await write(pathOf('a'), 2)).status, 204, 'in place of another');
  assert.equal((await call('DELETE', `cubbyhole/${pathOf('a')}`)).status, 204);
  assert.equal((await write('d')).status, 204);
});
