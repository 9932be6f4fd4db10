import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { type Client, type Reply, startTestServer } from '../support/server.ts';

const wrapFor = (ttl: string): { headers: Record<string, string> } => ({
  headers: { 'x-vault-wrap-ttl': ttl },
});

const USED_UP = { errors: ['wrapping token is not valid or does not exist'] };

interface Served extends Client {
  clock: { now: number };
  unwrap(token: string): Promise<Reply>;
}

/** A server with a CA `pki` and a role `web`, whose clock stands still. */
async function serve(t: TestContext): Promise<Served> {
  const clock = { now: Date.now() };
  const client = await startTestServer(t, { now: () => clock.now });
  await client.call('POST', 'sys/mounts/pki', { type: 'pki' });
  const key_type = 'ed25519';
  await client.call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type });
  await client.call('POST', 'pki/roles/web', { allow_any_name: true, key_type, ttl: '1h' });
  return {
    ...client,
    clock,
    unwrap: (token) => client.call('POST', 'sys/wrapping/unwrap', {}, { token }),
  };
}

test('an issued certificate is wrapped, unwraps once in full, and never again', async (t) => {
  const { call, unwrap } = await serve(t);
  const wrapped = await call('POST', 'pki/issue/web', { common_name: 'a.test' }, wrapFor('60'));
  assert.equal(wrapped.status, 200, wrapped.text);
  assert.deepEqual(
    ['request_id', 'lease_id', 'data', 'auth', 'warnings'].map((name) => wrapped.field(name)),
    ['', '', null, null, null],
  );
  assert.equal(wrapped.field('wrap_info.ttl'), 60);
  assert.equal(wrapped.field('wrap_info.creation_path'), 'pki/issue/web');
  assert.equal(wrapped.field('wrap_info.wrapped_accessor'), undefined);
  assert.doesNotMatch(wrapped.text, /BEGIN/);

  const token = wrapped.textAt('wrap_info.token');
  const opened = await unwrap(token);
  assert.equal(opened.status, 200, opened.text);
  assert.notEqual(opened.field('request_id'), '');
  assert.match(opened.textAt('data.private_key'), /BEGIN PRIVATE KEY/);
  assert.match(opened.textAt('data.certificate'), /BEGIN CERTIFICATE/);
  assert.equal(opened.field('mount_type'), 'pki');
  const serial = opened.textAt('data.serial_number');
  assert.equal((await call('GET', `pki/cert/${serial}`)).status, 200);

  const again = await unwrap(token);
  assert.equal(again.status, 400);
  assert.deepEqual(JSON.parse(again.text), USED_UP);
});

test('of many who unwrap at once, by header or by body, exactly one gets the answer', async (t) => {
  const { call, unwrap } = await serve(t);
  const wrapped = await call('POST', 'sys/wrapping/wrap', { secret: 'one' }, wrapFor('60'));
  const token = wrapped.textAt('wrap_info.token');
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, i) =>
      i % 2 === 0 ? unwrap(token) : call('POST', 'sys/wrapping/unwrap', { token }),
    ),
  );
  assert.equal(replies.filter(({ status }) => status === 200).length, 1);
  assert.equal(replies.filter(({ status }) => status === 400).length, 11);
});

test('what is sent to be wrapped comes back as it was, and only wrapped', async (t) => {
  const { call, unwrap } = await serve(t);
  const sent = { a: 1, token: 'x', list: ['b', null], deep: { c: true } };
  const plain = await call('POST', 'sys/wrapping/wrap', sent);
  assert.equal(plain.status, 400);
  assert.deepEqual(plain.field('errors'), ['endpoint requires response wrapping to be used']);
  const wrapped = await call('POST', 'sys/wrapping/wrap', sent, wrapFor('1m'));
  assert.equal(wrapped.field('wrap_info.creation_path'), 'sys/wrapping/wrap');
  const opened = await unwrap(wrapped.textAt('wrap_info.token'));
  assert.deepEqual(opened.field('data'), sent);
  assert.equal(opened.field('warnings'), null);
});

test('a wrapping is looked up without taking it, by anybody who has the token', async (t) => {
  const { call, clock, unwrap } = await serve(t);
  const wrapped = await call('POST', 'sys/wrapping/wrap', { a: 1 }, wrapFor('90'));
  const token = wrapped.textAt('wrap_info.token');
  for (const ask of [
    () => call('POST', 'sys/wrapping/lookup', { token }, { token: '' }),
    () => call('POST', 'sys/wrapping/lookup', {}, { token }),
    () => call('GET', 'sys/wrapping/lookup', undefined, { token }),
  ]) {
    const found = await ask();
    assert.deepEqual(found.field('data'), {
      creation_path: 'sys/wrapping/wrap',
      creation_time: new Date(clock.now).toISOString(),
      creation_ttl: 90,
    });
    assert.equal(found.field('creation_ttl'), 90, 'repeated beside the envelope');
  }
  assert.equal((await unwrap(token)).status, 200);
  const gone = await call('POST', 'sys/wrapping/lookup', { token });
  assert.deepEqual([gone.status, JSON.parse(gone.text)], [400, USED_UP]);
});

test('a rewrapped answer keeps its path and time to live; the old token is worthless', async (t) => {
  const { call, unwrap, clock } = await serve(t);
  const wrapped = await call('POST', 'sys/wrapping/wrap', { a: 1 }, wrapFor('60'));
  const old = wrapped.textAt('wrap_info.token');
  clock.now += 50_000;
  const next = await call('POST', 'sys/wrapping/rewrap', { token: old });
  assert.equal(next.status, 200, next.text);
  assert.equal(next.field('wrap_info.ttl'), 60);
  assert.equal(next.field('wrap_info.creation_path'), 'sys/wrapping/wrap');
  assert.equal(next.field('request_id'), '');
  clock.now += 50_000;
  assert.equal((await unwrap(old)).status, 400);
  assert.deepEqual((await unwrap(next.textAt('wrap_info.token'))).field('data'), { a: 1 });
});

test('a wrapping token opens nothing but its answer, and is not used up by being refused', async (t) => {
  const { call, unwrap } = await serve(t);
  const wrapped = await call('POST', 'sys/wrapping/wrap', { a: 1 }, wrapFor('60'));
  const token = wrapped.textAt('wrap_info.token');
  const refused: [method: string, path: string][] = [
    ['GET', 'auth/token/lookup-self'],
    ['POST', 'auth/token/renew-self'],
    ['POST', 'auth/token/revoke-self'],
    ['POST', 'sys/wrapping/wrap'],
    ['GET', 'cubbyhole/response'],
    ['POST', 'pki/issue/web'],
    ['GET', 'sys/mounts'],
  ];
  for (const [method, path] of refused) {
    const body = method === 'POST' ? {} : undefined;
    const answer = await call(method, path, body, { token, ...wrapFor('60') });
    assert.equal(answer.status, 403, `${method} ${path}: ${answer.text}`);
  }
  assert.equal((await unwrap(token)).status, 200);
});

test('a wrapping ends with its time, with its token, and never before', async (t) => {
  const { call, unwrap, clock } = await serve(t);
  const wrap = async () => call('POST', 'sys/wrapping/wrap', { a: 1 }, wrapFor('60'));
  const [kept, late, revoked] = [await wrap(), await wrap(), await wrap()];
  const accessor = revoked.textAt('wrap_info.accessor');
  assert.equal((await call('POST', 'auth/token/revoke-accessor', { accessor })).status, 204);
  assert.equal((await unwrap(revoked.textAt('wrap_info.token'))).status, 400);
  clock.now += 59_000;
  assert.equal((await unwrap(kept.textAt('wrap_info.token'))).status, 200);
  clock.now += 1_000;
  assert.equal((await unwrap(late.textAt('wrap_info.token'))).status, 400);
});

test('an ordinary token, a made-up one and none are no wrapping tokens', async (t) => {
  const { call } = await serve(t);
  for (const [body, token] of [
    [{}, 'root'],
    [{ token: 'root' }, 'root'],
    [{ token: 'hvs.AAAAAAAAAAAAAAAAAAAAAAAA' }, 'root'],
    [{}, ''],
  ] as const) {
    const answer = await call('POST', 'sys/wrapping/unwrap', body, { token });
    assert.deepEqual([answer.status, JSON.parse(answer.text)], [400, USED_UP]);
  }
});

test('who may not unwrap with an own token cannot do it with the token of somebody else', async (t) => {
  const { call } = await serve(t);
  const policy = 'path "sys/wrapping/unwrap" { capabilities = ["deny"] }';
  await call('POST', 'sys/policies/acl/none', { policy });
  const made = await call('POST', 'auth/token/create', { policies: ['none'] });
  const own = made.textAt('auth.client_token');
  const wrapped = await call('POST', 'sys/wrapping/wrap', { a: 1 }, wrapFor('60'));
  const body = { token: wrapped.textAt('wrap_info.token') };
  assert.equal((await call('POST', 'sys/wrapping/unwrap', body, { token: own })).status, 403);
  assert.equal((await call('POST', 'sys/wrapping/unwrap', body)).status, 200);
});

test('a made token is wrapped with its accessor told, and works when unwrapped', async (t) => {
  const { call, unwrap } = await serve(t);
  const made = await call('POST', 'auth/token/create', { policies: ['default'] }, wrapFor('60'));
  const opened = await unwrap(made.textAt('wrap_info.token'));
  assert.equal(made.field('wrap_info.wrapped_accessor'), opened.field('auth.accessor'));
  const token = opened.textAt('auth.client_token');
  assert.equal((await call('GET', 'auth/token/lookup-self', undefined, { token })).status, 200);
});

test('a log-in without a token can be wrapped', async (t) => {
  const { call, unwrap } = await serve(t);
  await call('POST', 'sys/auth/userpass', { type: 'userpass' });
  await call('POST', 'auth/userpass/users/ann', { password: 'correct horse' });
  const login = await call(
    'POST',
    'auth/userpass/login/ann',
    { password: 'correct horse' },
    { token: '', ...wrapFor('60') },
  );
  assert.equal(login.status, 200, login.text);
  const opened = await unwrap(login.textAt('wrap_info.token'));
  assert.deepEqual(opened.field('auth.metadata'), { username: 'ann' });
});

test('raw answers come out as they went in, an empty one as 204', async (t) => {
  const { call, unwrap } = await serve(t);
  const plain = await call('GET', 'pki/ca');
  const wrapped = await call('GET', 'pki/ca', undefined, wrapFor('60'));
  const opened = await unwrap(wrapped.textAt('wrap_info.token'));
  assert.equal(opened.headers.get('content-type'), plain.headers.get('content-type'));
  assert.deepEqual(opened.bytes, plain.bytes);
  parseCertificate(opened.bytes);

  await call('POST', 'sys/mounts/bare', { type: 'pki' });
  const none = await call('GET', 'bare/ca/pem', undefined, wrapFor('60'));
  assert.equal(none.status, 200, none.text);
  assert.equal((await unwrap(none.textAt('wrap_info.token'))).status, 204);
});

test('lists are wrapped; errors and answers that say nothing never are', async (t) => {
  const { call, unwrap } = await serve(t);
  const list = await call('LIST', 'pki/roles', undefined, wrapFor('60'));
  const opened = await unwrap(list.textAt('wrap_info.token'));
  assert.deepEqual(opened.field('data.keys'), ['web']);
  const unknown = await call('GET', 'pki/roles/none', undefined, wrapFor('60'));
  assert.deepEqual([unknown.status, JSON.parse(unknown.text)], [404, { errors: [] }]);
  assert.equal((await call('DELETE', 'pki/roles/web', undefined, wrapFor('60'))).status, 204);
});

const headers: [header: string, value: string, status: number][] = [
  ['x-vault-wrap-ttl', '0', 200],
  ['x-vault-wrap-ttl', '-1', 400],
  ['x-vault-wrap-ttl', 'soon', 400],
];
test('a time to wrap for is a duration; zero asks for none', async (t) => {
  const { call } = await serve(t);
  for (const [header, value, status] of headers) {
    const answer = await call('GET', 'pki/roles/web', undefined, { headers: { [header]: value } });
    assert.equal(answer.status, status, value);
    assert.equal(answer.field('wrap_info') ?? null, null);
  }
  const both = { headers: { ...wrapFor('60').headers, 'x-vault-wrap-format': 'jwt' } };
  assert.equal((await call('GET', 'pki/roles/web', undefined, both)).status, 400);
});

test('a fraction of a second is a second: it never becomes an answer in the open', async (t) => {
  const { call, unwrap } = await serve(t);
  for (const [ttl, seconds] of [
    ['0.5', 1],
    ['1ns', 1],
    ['1500ms', 2],
    ['2', 2],
  ] as const) {
    const wrapped = await call('GET', 'pki/roles/web', undefined, wrapFor(ttl));
    assert.equal(wrapped.status, 200, wrapped.text);
    assert.equal(wrapped.field('wrap_info.ttl'), seconds, ttl);
    assert.equal((await unwrap(wrapped.textAt('wrap_info.token'))).status, 200);
  }
});

test('nobody fills the store with wrapped copies of what is public', async (t) => {
  const { call } = await serve(t);
  const anonymous = { token: '', ...wrapFor('60') };
  assert.equal((await call('GET', 'pki/ca/pem', undefined, anonymous)).status, 400);
  assert.equal((await call('GET', 'sys/health', undefined, anonymous)).status, 200);
});

test('a policy bounds how long answers are wrapped for', async (t) => {
  const { call } = await serve(t);
  const policy =
    'path "pki/roles/*" { capabilities = ["read"] min_wrapping_ttl = "1m" max_wrapping_ttl = "2m" }';
  await call('POST', 'sys/policies/acl/bounded', { policy });
  const made = await call('POST', 'auth/token/create', { policies: ['bounded'] });
  const token = made.textAt('auth.client_token');
  for (const [ttl, status] of [
    ['', 403],
    ['59', 403],
    ['60', 200],
    ['120', 200],
    ['121', 403],
  ] as const) {
    const asked = ttl === '' ? { token } : { token, ...wrapFor(ttl) };
    assert.equal((await call('GET', 'pki/roles/web', undefined, asked)).status, status, ttl);
  }
});

test('a wrapped answer lies sealed in the store', async (t) => {
  const { call, running } = await serve(t);
  const canary = 'canary-7d1f0c52';
  await call('POST', 'sys/wrapping/wrap', { canary }, wrapFor('60'));
  const { storage } = running.app.config;
  assert.equal(storage.type, 'sqlite');
  const directory = storage.type === 'sqlite' ? storage.directory : '';
  const files = globSync('**/*', { cwd: directory, withFileTypes: true });
  const bytes = files
    .filter((file) => file.isFile())
    .map((file) => readFileSync(join(file.parentPath, file.name)));
  assert.ok(bytes.length > 0);
  for (const one of bytes) assert.equal(one.includes(canary), false);
});
