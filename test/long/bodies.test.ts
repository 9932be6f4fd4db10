import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startBroker } from '../support/seeded-broker.ts';
import { startTestServer } from '../support/server.ts';

const NO_JSON = Buffer.from('{"a":');

test('what a caller may not do is refused before its body is looked at', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  await call('POST', 'sys/auth/userpass', { type: 'userpass' });
  const policy = `
    path "pki/roles/own" { capabilities = ["update"] required_parameters = ["ttl"] }
    path "pki/roles/read" { capabilities = ["read"] }
    path "auth/userpass/users/*" { capabilities = ["create"] }`;
  await call('POST', 'sys/policies/acl/own', { policy });
  const made = await call('POST', 'auth/token/create', { policies: ['own'] });
  const token = made.textAt('auth.client_token');
  for (const [method, path, status] of [
    ['POST', 'pki/roles/own', 400],
    ['PATCH', 'pki/roles/own', 403],
    ['POST', 'pki/roles/read', 403],
    ['POST', 'pki/roles/other', 403],
    ['POST', 'auth/userpass/users/new', 400],
    ['POST', 'auth/userpass/role/new', 403],
  ] as const) {
    const answer = await call(method, path, NO_JSON, { token });
    assert.equal(answer.status, status, `${method} ${path}: ${answer.text}`);
  }
  const bare = await call('POST', 'pki/roles/own', {}, { token });
  assert.equal(bare.status, 403, 'what the fields decide is still decided by them');
});

test('to create is not to change, though both begin alike', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/auth/userpass', { type: 'userpass' });
  const policy = 'path "auth/userpass/users/*" { capabilities = ["create"] }';
  await call('POST', 'sys/policies/acl/maker', { policy });
  const made = await call('POST', 'auth/token/create', { policies: ['maker'] });
  const token = made.textAt('auth.client_token');
  const user = { password: 'long enough' };
  assert.equal((await call('POST', 'auth/userpass/users/bob', user, { token })).status, 204);
  assert.equal((await call('POST', 'auth/userpass/users/bob', user, { token })).status, 403);
});

test('what is made of a body is counted until it is answered: brackets take much more than they are long', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/auth/up', { type: 'userpass' });
  // Each waits for its password to be looked at, with 100,000 values of some 6 MiB.
  const body = Buffer.from(`{"password":"long enough","x":[${'[],'.repeat(49_000)}0]}`);
  const ask = (at: number) => call('POST', `auth/up/users/u${at}`, body);
  const answers = await Promise.all(Array.from({ length: 12 }, (_, at) => ask(at)));
  const isFull = ({ status, text }: (typeof answers)[number]): boolean =>
    status === 429 && text.includes('too many request bodies');
  const refused = answers.filter(isFull).length;
  assert.ok(refused >= 5 && refused <= 10, `${refused} of 12 were refused`);
  assert.ok(answers.every((answer) => isFull(answer) || answer.status === 204));
  assert.equal((await ask(12)).status, 204, 'it is given back');
});

test('bodies as people send them are not counted by what they come to', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'sys/auth/up', { type: 'approle' });
  const policies = Array.from({ length: 500 }, (_, at) => `p${at}`);
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, at) =>
      call('POST', `auth/up/role/r${at}`, { token_policies: policies }),
    ),
  );
  assert.deepEqual([...new Set(answers.map(({ status }) => status))], [204]);
});

const MANY = 1_100;
for (const [what, path, body] of [
  ['a log-in of the Vault API', 'auth/up/login/ann', { password: 'x' }],
  [
    'a log-in of the broker',
    'auth-methods/ampw_1234567890:authenticate',
    { attributes: { login_name: 'ann', password: 'x' } },
  ],
] as const) {
  test(`unauthenticated bodies have few values: ${what}`, async (t) => {
    const { client } = await startBroker(t);
    await client.call('POST', 'sys/auth/up', { type: 'userpass' });
    const say = (extra: unknown) => client.call('POST', path, { ...body, extra }, { token: '' });
    const lists = (count: number): unknown[] => Array.from({ length: count }, () => []);
    const refused = await say(lists(MANY / 2));
    assert.equal(refused.status, 400);
    assert.match(refused.text, /more than 1000 values/);
    const members = Object.fromEntries(lists(MANY).map((_, at) => [`m${at}`, '']));
    assert.match((await say(members)).text, /more than 1000 (members|values)/);
    // As long, and of few values.
    assert.doesNotMatch((await say(['x'.repeat(3 * MANY)])).text, /more than/);
    assert.doesNotMatch((await say(lists(MANY / 4))).text, /more than/);
    // Of those who are known many may be said.
    const known = await client.call('POST', 'cubbyhole/many', { extra: lists(MANY / 2) });
    assert.equal(known.status, 204);
  });
}
