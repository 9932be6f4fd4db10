import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { seedIds } from '../../src/broker/seed/fixtures.ts';
import { SEED_DEFAULTS } from '../../src/config/seed.ts';
import { USER_LOCKOUT_DEFAULTS } from '../../src/config/settings.ts';
import { startTestServer } from '../support/server.ts';

const THRESHOLD = 2;
const { call } = await startTestServer(
  { after },
  {
    config: {
      seed: SEED_DEFAULTS,
      user_lockout: { ...USER_LOCKOUT_DEFAULTS, lockout_threshold: THRESHOLD },
    },
  },
);
const method = seedIds(SEED_DEFAULTS.id_suffix).auth_method;
await call('POST', 'sys/auth/userpass', { type: 'userpass' });
await call('POST', 'auth/userpass/users/ann', { password: 'right' });
const mounts = await call('GET', 'sys/auth');
const userpass = String(Object(mounts.field('data'))['userpass/'].accessor);

const KINDS = [
  {
    kind: 'userpass',
    accessor: userpass,
    name: 'ann',
    right: 'right',
    logIn: (name: string, password: string) =>
      call('POST', `auth/userpass/login/${name}`, { password }, { token: '' }),
  },
  {
    kind: 'the broker',
    accessor: method,
    name: SEED_DEFAULTS.login_name,
    right: SEED_DEFAULTS.password,
    logIn: (login_name: string, password: string) =>
      call(
        'POST',
        `auth-methods/${method}:authenticate`,
        { attributes: { login_name, password } },
        { token: '' },
      ),
  },
];

const locked = async () => (await call('GET', 'sys/locked-users')).field('data');

for (const { kind, accessor, name, right, logIn } of KINDS) {
  test(`who is locked is listed and can be let in again: ${kind}`, async () => {
    assert.deepEqual(await locked(), { by_namespace: [], total: 0 });
    for (let n = 0; n < THRESHOLD; n++) await logIn(name, 'wrong password');
    assert.notEqual((await logIn(name, right)).status, 200, 'locked');
    assert.deepEqual(await locked(), {
      by_namespace: [
        {
          namespace_id: 'root',
          namespace_path: '',
          counts: 1,
          mount_accessors: [{ mount_accessor: accessor, counts: 1, alias_identifiers: [name] }],
        },
      ],
      total: 1,
    });
    const unlock = await call('POST', `sys/locked-users/${accessor}/unlock/${name}`);
    assert.equal(unlock.status, 204, unlock.text);
    assert.deepEqual(await locked(), { by_namespace: [], total: 0 });
    assert.equal((await logIn(name, right)).status, 200);
  });

  test(`a name counts as one however it is written: ${kind}`, async () => {
    for (let n = 0; n < THRESHOLD; n++) await logIn(name.toUpperCase(), 'wrong password');
    assert.notEqual((await logIn(name, right)).status, 200, 'locked');
    await call('POST', `sys/locked-users/${accessor}/unlock/${name}`);
    assert.equal((await logIn(name, right)).status, 200);
  });

  test(`the list can be asked for one of them, and another is not in it: ${kind}`, async () => {
    for (let n = 0; n < THRESHOLD; n++) await logIn('nobody', 'wrong password');
    const own = await call('GET', `sys/locked-users?mount_accessor=${accessor}`);
    assert.equal(own.field('data.total'), 1);
    const other = KINDS.find((one) => one.kind !== kind)?.accessor;
    const others = await call('GET', `sys/locked-users?mount_accessor=${other}`);
    assert.equal(others.field('data.total'), 0);
    await call('POST', `sys/locked-users/${accessor}/unlock/nobody`);
  });
}

test('an accessor that is nothing’s is refused by name', async () => {
  const scope = 'global';
  for (const accessor of ['auth_userpass_00000000', 'ampw_0000000000', scope]) {
    const unlock = await call('POST', `sys/locked-users/${accessor}/unlock/ann`);
    assert.equal(unlock.status, 400);
    assert.match(unlock.text, new RegExp(accessor));
    const listed = await call('GET', `sys/locked-users?mount_accessor=${accessor}`);
    assert.equal(listed.status, 400);
  }
});

test('neither is for somebody whose policies say nothing of it', async () => {
  const token = (await call('POST', 'auth/token/create', { policies: ['default'] })).textAt(
    'auth.client_token',
  );
  const unlock = `sys/locked-users/${method}/unlock/${SEED_DEFAULTS.login_name}`;
  assert.equal((await call('GET', 'sys/locked-users', undefined, { token })).status, 403);
  assert.equal((await call('POST', unlock, {}, { token })).status, 403);
  await call('POST', 'sys/policies/acl/unlocker', {
    policy: `path "sys/locked-users/${method}/unlock/*" { capabilities = ["update"] }`,
  });
  const allowed = (await call('POST', 'auth/token/create', { policies: ['unlocker'] })).textAt(
    'auth.client_token',
  );
  assert.equal((await call('POST', unlock, {}, { token: allowed })).status, 204);
  const elsewhere = `sys/locked-users/${userpass}/unlock/ann`;
  assert.equal((await call('POST', elsewhere, {}, { token: allowed })).status, 403);
});
