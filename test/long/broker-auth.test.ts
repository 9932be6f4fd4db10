import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { AUTH_METHOD, refusedFields, startBroker, tokenIdOf } from '../support/seeded-broker.ts';
import type { Reply } from '../support/server.ts';

const clock = { ahead: 0 };
const broker = await startBroker({ after }, { now: () => Date.now() + clock.ahead });
const { admin, nobody, client, make, org, project } = broker;

const PATH = `auth-methods/${AUTH_METHOD}:authenticate`;
const HOUR_MS = 3600 * 1000;

const newPerson = () => broker.person([]);
const readOwn = (token: string, headers: Record<string, string>): Promise<Reply> =>
  client.call('GET', `auth-tokens/${tokenIdOf(token)}`, undefined, { token: '', headers });

test('nobody in particular sees how to log in, and little else', async () => {
  const list = await nobody('GET', 'auth-methods?scope_id=global');
  assert.equal(list.status, 200);
  const [method] = list.field('items') as Record<string, unknown>[];
  assert.equal(method?.id, AUTH_METHOD);
  assert.equal(method?.created_time, undefined);
  assert.deepEqual(method?.authorized_actions, ['authenticate']);
  assert.equal((await nobody('GET', `auth-methods/${AUTH_METHOD}`)).status, 401);
});

test('a token that is unknown, malformed or empty is nobody in particular', async () => {
  const target = `targets/${await make('targets', {
    scope_id: project,
    type: 'tcp',
    name: 'x',
    attributes: { default_port: 1 },
  })}`;
  for (const token of ['at_1234567890_madeupinvalidtoken', 'x', 'r_notours', '_', 'at__']) {
    assert.equal((await broker.as(token)('GET', target)).status, 401, token);
    assert.equal((await broker.as(token)('GET', 'scopes?scope_id=global')).status, 200, token);
  }
  const empty = (path: string) =>
    client.call('GET', path, undefined, { token: '', headers: { authorization: 'Bearer ' } });
  assert.equal((await empty('scopes?scope_id=global')).status, 200);
  assert.equal((await empty(target)).status, 401);
  const body = (await empty(target)).text;
  assert.deepEqual(JSON.parse(body), {
    kind: 'Unauthenticated',
    message: 'Unauthenticated, or invalid token.',
  });
  const person = await newPerson();
  const refused = await person.call('DELETE', target);
  assert.equal(refused.status, 403);
  assert.deepEqual(JSON.parse(refused.text), { kind: 'PermissionDenied', message: 'Forbidden.' });
});

test('a bearer token is read however it is spaced and spelt', async () => {
  const { token } = await newPerson();
  for (const authorization of [`Bearer ${token}`, `bearer ${token}`, `BEARER   ${token}  `]) {
    assert.equal((await readOwn(token, { authorization })).status, 200, authorization);
  }
  for (const authorization of [`Basic ${token}`, token, `Bearer ${token} x`]) {
    assert.equal((await readOwn(token, { authorization })).status, 401, authorization);
  }
});

test('a log-in answers as it was asked', async () => {
  const { login_name } = await newPerson();
  const attributes = { login_name, password: 'password' };
  const plain = await nobody('POST', PATH, { attributes });
  assert.equal(plain.field('type'), undefined);
  assert.equal(plain.field('command'), 'login');
  assert.equal(plain.field('attributes.authorized_actions'), undefined);
  assert.equal(plain.field('attributes.scope_id'), undefined);
  const token = plain.textAt('attributes.token');
  assert.match(token, /^at_[A-Za-z0-9]{10}_s1[A-Za-z0-9]+$/);
  assert.equal(tokenIdOf(token), plain.textAt('attributes.id'));

  const typed = await nobody('POST', PATH, { command: 'login', type: 'TOKEN', attributes });
  assert.equal(typed.field('type'), 'token');
  assert.equal(typed.textAt('attributes.scope_id'), 'global');
  assert.deepEqual(typed.field('attributes.authorized_actions'), ['read:self', 'delete:self']);

  const cookie = await nobody('POST', PATH, { type: 'cookie', attributes });
  assert.equal(cookie.field('attributes.token'), undefined);
  const cookies = cookie.headers.getSetCookie();
  assert.equal(cookies.length, 2);
  for (const one of cookies) assert.match(one, /; Path=\/;.*Secure/);
  assert.equal(cookies.filter((one) => /HttpOnly/.test(one)).length, 1);
  const pair = cookies.map((one) => one.split(';')[0]);
  const own = `auth-tokens/${cookie.textAt('attributes.id')}`;
  const by = (headers: Record<string, string>): Promise<Reply> =>
    client.call('GET', own, undefined, { token: '', headers });
  assert.equal((await by({ cookie: pair.join('; ') })).status, 200);
  assert.equal((await by({ cookie: pair[0] ?? '' })).status, 401, 'half a token is none');
  assert.equal((await by({ cookie: pair[1] ?? '' })).status, 401, 'nor is the other half');
  // A token that is sent as such goes before what a browser keeps.
  const both = { cookie: pair.join('; '), authorization: 'Bearer at_1234567890_x' };
  assert.equal((await by(both)).status, 401);
});

const REQUIRED = 'This is a required field.';
const FORMAT = 'Attribute fields do not match the expected format.';

const malformed: [body: object, fields: Record<string, string>][] = [
  [{}, { attributes: REQUIRED }],
  [{ attributes: {} }, { 'attributes.login_name': REQUIRED, 'attributes.password': REQUIRED }],
  [{ attributes: { login_name: 'a' } }, { 'attributes.password': REQUIRED }],
  [{ attributes: { login_name: '', password: 'x' } }, { 'attributes.login_name': REQUIRED }],
  [{ attributes: { login_name: 'a', password: 'x', x: 1 } }, { attributes: FORMAT }],
  [{ attributes: { login_name: 'a', password: 1 } }, { attributes: FORMAT }],
  [
    { command: 'start', attributes: { login_name: 'a', password: 'x' } },
    { command: 'Invalid command for this auth method type.' },
  ],
  [
    { type: 'paper', attributes: { login_name: 'a', password: 'x' } },
    { type: 'The only accepted types are "token" and "cookie".' },
  ],
];

for (const [body, fields] of malformed) {
  test(`a log-in with ${JSON.stringify(body)} is refused by its fields`, async () => {
    const answer = await nobody('POST', PATH, body);
    assert.equal(answer.status, 400);
    assert.equal(answer.textAt('message'), 'Invalid fields provided in request.');
    assert.deepEqual(refusedFields(answer), fields);
  });
}

test('a log-in at what is no auth method says so', async () => {
  const attributes = { login_name: 'a', password: 'x' };
  const strange = await nobody('POST', 'auth-methods/x_1:authenticate', { attributes });
  assert.deepEqual(refusedFields(strange), { auth_method_id: 'Unknown auth method type.' });
  const unknown = await nobody('POST', 'auth-methods/ampw_unknown:authenticate', { attributes });
  assert.equal(unknown.status, 404);
});

test('a wrong password, a wrong name and a locked name are refused in the same words', async () => {
  const { login_name } = await newPerson();
  const attempt = (name: string, password: string): Promise<Reply> =>
    nobody('POST', PATH, { attributes: { login_name: name, password } });
  const wrong = await attempt(login_name, 'wrong password');
  assert.equal(wrong.status, 401);
  assert.deepEqual(JSON.parse(wrong.text), {
    kind: 'Unauthenticated',
    message: 'Unable to authenticate.',
  });
  assert.equal((await attempt('no-such-name', 'password')).text, wrong.text);
  for (let again = 1; again < 5; again++) await attempt(login_name, 'wrong password');
  assert.equal((await attempt(login_name, 'password')).text, wrong.text, 'locked');
  clock.ahead += HOUR_MS;
  assert.equal((await attempt(login_name, 'password')).status, 200, 'no more');
});

test('one token is one identity on both APIs, by either header', async () => {
  const person = await newPerson();
  const { token } = person;
  for (const headers of [{ 'x-vault-token': token }, { authorization: `Bearer ${token}` }]) {
    const own = await readOwn(token, headers as Record<string, string>);
    assert.equal(own.textAt('user_id'), person.user_id);
    const self = await client.call('GET', 'auth/token/lookup-self', undefined, {
      token: '',
      headers: headers as Record<string, string>,
    });
    assert.equal(self.status, 200, self.text);
    assert.equal(self.textAt('data.meta.user_id'), person.user_id);
    assert.deepEqual(self.field('data.policies'), ['default']);
  }
  // What one API ends is ended on the other.
  const gone = await client.call('POST', 'auth/token/revoke-self', undefined, { token });
  assert.equal(gone.status, 204);
  const own = await readOwn(token, { authorization: `Bearer ${token}` });
  assert.equal(own.status, 404, 'the log-in is gone with its token');
  assert.equal((await broker.as(token)('GET', 'users?scope_id=global')).status, 401);
});

test('a log-in by the other API is the same user where the entity is the same', async () => {
  const root = (method: string, path: string, body?: unknown) => client.call(method, path, body);
  const person = await newPerson();
  const entity_id = (
    await client.call('GET', 'auth/token/lookup-self', undefined, { token: person.token })
  ).textAt('data.entity_id');
  assert.notEqual(entity_id, '');
  assert.equal((await root('POST', 'sys/auth/userpass', { type: 'userpass' })).status, 204);
  const mounts = await root('GET', 'sys/auth');
  const accessor = (mounts.field('data') as Record<string, { accessor: string }>)['userpass/'];
  await root('POST', 'auth/userpass/users/shared', { password: 'secret phrase' });
  const alias = { name: 'shared', canonical_id: entity_id, mount_accessor: accessor?.accessor };
  const made = await root('POST', 'identity/entity-alias', alias);
  assert.ok(made.status < 300, made.text);
  const logIn = await client.call(
    'POST',
    'auth/userpass/login/shared',
    { password: 'secret phrase' },
    { token: '' },
  );
  const token = logIn.textAt('auth.client_token');
  assert.notEqual(token, '');
  const group = await make('groups', { scope_id: org, name: 'of both' });
  const path = `groups/${group}`;
  assert.equal((await broker.as(token)('GET', path)).status, 403, 'known, and not permitted');
  const role = await make('roles', { scope_id: org });
  const grant = { version: 1, grant_strings: ['ids=*;type=group;actions=read'] };
  await admin('POST', `roles/${role}:set-grants`, grant);
  const principal = { version: 2, principal_ids: [person.user_id] };
  await admin('POST', `roles/${role}:set-principals`, principal);
  assert.equal((await broker.as(token)('GET', path)).status, 200);
  assert.equal((await person.call('GET', path)).status, 200);
  // A token without that entity is nobody here.
  await root('POST', 'auth/userpass/users/alone', { password: 'secret phrase' });
  const alone = await client.call(
    'POST',
    'auth/userpass/login/alone',
    { password: 'secret phrase' },
    { token: '' },
  );
  assert.equal((await broker.as(alone.textAt('auth.client_token'))('GET', path)).status, 401);
});

/** Whether a token is good on each API. */
async function isGood(token: string): Promise<[broker: boolean, authority: boolean]> {
  const own = await readOwn(token, { authorization: `Bearer ${token}` });
  const self = await client.call('GET', 'auth/token/lookup-self', undefined, { token });
  return [own.status === 200, self.status === 200];
}

test('a token ends on both APIs with its account, its user, its auth method or its deletion', async () => {
  const ends: [
    name: string,
    end: (person: Awaited<ReturnType<typeof newPerson>>) => Promise<Reply>,
  ][] = [
    ['the account', ({ account_id }) => admin('DELETE', `accounts/${account_id}`)],
    ['the user', ({ user_id }) => admin('DELETE', `users/${user_id}`)],
    ['the token', ({ token }) => admin('DELETE', `auth-tokens/${tokenIdOf(token)}`)],
    ['by its owner', ({ token, call }) => call('DELETE', `auth-tokens/${tokenIdOf(token)}`)],
    [
      'the account taken from its user',
      async ({ user_id, account_id }) =>
        admin('POST', `users/${user_id}:remove-accounts`, {
          version: (await admin('GET', `users/${user_id}`)).field('version'),
          account_ids: [account_id],
        }),
    ],
    [
      'every account taken from its user',
      async ({ user_id }) =>
        admin('POST', `users/${user_id}:set-accounts`, {
          version: (await admin('GET', `users/${user_id}`)).field('version'),
          account_ids: [],
        }),
    ],
  ];
  for (const [name, end] of ends) {
    const person = await newPerson();
    assert.deepEqual(await isGood(person.token), [true, true], name);
    const done = await end(person);
    assert.ok(done.status < 300, done.text);
    assert.deepEqual(await isGood(person.token), [false, false], name);
  }
});

test('a token ends on both APIs with the org that it lies in', async () => {
  const scope_id = await make('scopes', { scope_id: 'global', type: 'org', name: 'short-lived' });
  const method = await make('auth-methods', { scope_id, type: 'password' });
  const attributes = { login_name: 'somebody', password: 'password' };
  await make('accounts', { auth_method_id: method, attributes });
  const version = (await admin('GET', `scopes/${scope_id}`)).field('version');
  const primary = { version, primary_auth_method_id: method };
  assert.equal((await admin('PATCH', `scopes/${scope_id}`, primary)).status, 200);
  const logIn = await nobody('POST', `auth-methods/${method}:authenticate`, { attributes });
  const token = logIn.textAt('attributes.token');
  assert.deepEqual(await isGood(token), [true, true]);
  assert.equal((await admin('DELETE', `scopes/${scope_id}`)).status, 204);
  assert.deepEqual(await isGood(token), [false, false]);
});

test('the first log-in twice at once makes one user', async () => {
  const attributes = { login_name: 'twice', password: 'password' };
  await make('accounts', { auth_method_id: AUTH_METHOD, attributes });
  const logIns = await Promise.all(
    Array.from({ length: 8 }, () => nobody('POST', PATH, { attributes })),
  );
  const users = new Set(logIns.map((answer) => answer.textAt('attributes.user_id')));
  assert.ok(logIns.every(({ status }) => status === 200));
  assert.equal(users.size, 1);
});

test('passwords are changed by who knows them, set by who may, and never shown', async () => {
  const { account_id, login_name, call } = await newPerson();
  const path = `accounts/${account_id}`;
  const logsIn = async (password: string): Promise<boolean> =>
    (await nobody('POST', PATH, { attributes: { login_name, password } })).status === 200;
  const change = (body: object): Promise<Reply> =>
    call('POST', `${path}:change-password`, { version: 1, ...body });
  const wrong = await change({ current_password: 'wrong one', new_password: 'another one' });
  assert.equal(wrong.status, 403);
  assert.equal(wrong.textAt('message'), 'Failed to change password.');
  const short = await change({ current_password: 'password', new_password: 'short' });
  assert.equal(short.status, 400);
  const missing = await change({ current_password: 'password' });
  assert.deepEqual(refusedFields(missing), { new_password: REQUIRED });
  const done = await change({ current_password: 'password', new_password: 'another one' });
  assert.equal(done.status, 200, done.text);
  assert.ok(!done.text.includes('another one') && !done.text.includes('argon2'));
  assert.ok(await logsIn('another one'));
  assert.ok(!(await logsIn('password')));
  const set = { version: 2, password: 'a third one' };
  assert.equal((await call('POST', `${path}:set-password`, set)).status, 403);
  assert.equal((await admin('POST', `${path}:set-password`, { ...set, version: 1 })).status, 404);
  assert.equal((await admin('POST', `${path}:set-password`, set)).status, 200);
  assert.ok(await logsIn('a third one'));
});

test('an account keeps its user through a change that knew nothing of it', async () => {
  const account = await make('accounts', {
    auth_method_id: AUTH_METHOD,
    attributes: { login_name: 'raced', password: 'password' },
  });
  const user = await make('users', { scope_id: 'global' });
  const [added, named] = await Promise.all([
    admin('POST', `users/${user}:add-accounts`, { version: 1, account_ids: [account] }),
    admin('PATCH', `accounts/${account}`, { version: 1, name: 'raced' }),
  ]);
  assert.deepEqual([added.status, named.status], [200, 200]);
  assert.deepEqual((await admin('GET', `users/${user}`)).field('account_ids'), [account]);
});

test('a request that names itself does so with a UUID', async () => {
  const by = (id: string) =>
    client.call('GET', 'scopes?scope_id=global', undefined, {
      token: '',
      headers: { 'x-correlation-id': id },
    });
  assert.equal((await by('0d6f4f0e-4d7e-4c35-9d0a-2b5b1f2f7a10')).status, 200);
  assert.equal((await by('x')).status, 400);
});

test('refusals without a token are recorded, and requests are counted, as on the other API', async () => {
  await nobody('GET', 'targets/ttcp_canary0000');
  const metrics = await client.call('GET', 'sys/metrics?format=prometheus');
  assert.match(
    metrics.text,
    /route="read-target"[^\n]*status="404"|status="404"[^\n]*route="read-target"/,
  );
});

// The last one: time does not go back.
test('a token ends after a day without use, and after seven days in any case', async () => {
  const idle = await newPerson();
  const busy = await newPerson();
  const alive = async (token: string): Promise<boolean> =>
    (await readOwn(token, { authorization: `Bearer ${token}` })).status === 200;
  for (let hours = 0; hours < 7 * 24 - 10; hours += 10) {
    clock.ahead += 10 * HOUR_MS;
    assert.ok(await alive(busy.token), `after ${hours + 10} hours`);
    // That it was used is written without being waited for, and before what is written next.
    const policy = 'path "later" { capabilities = ["read"] }';
    const later = await client.call('POST', 'sys/policies/acl/later', { policy });
    assert.ok(later.status < 300, later.text);
  }
  assert.ok(!(await alive(idle.token)));
  clock.ahead += 12 * HOUR_MS;
  assert.ok(!(await alive(busy.token)));
  assert.equal(
    (await client.call('GET', 'auth/token/lookup-self', undefined, { token: busy.token })).status,
    403,
  );
});
