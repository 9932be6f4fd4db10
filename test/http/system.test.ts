import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../support/server.ts';

test('what the policies of a token come to is shown to it, in patterns as written', async (t) => {
  const { call } = await startTestServer(t);
  await call('PUT', 'sys/policies/acl/some', {
    policy: `path "demo/issue/web" { capabilities = ["update"] }
      path "demo/+/x*" { capabilities = ["read", "list"] }
      path "demo/root" { capabilities = ["deny"] }`,
  });
  const made = await call('POST', 'auth/token/create', { policies: ['some'] });
  const token = made.textAt('auth.client_token');
  const acl = await call('GET', 'sys/internal/ui/resultant-acl', undefined, { token });
  assert.equal(acl.status, 200, acl.text);
  assert.equal(acl.field('data.root'), false);
  const exact = acl.field('data.exact_paths') as object;
  assert.deepEqual(Reflect.get(exact, 'demo/issue/web'), { capabilities: ['update'] });
  assert.deepEqual(Reflect.get(exact, 'demo/root'), { capabilities: ['deny'] });
  const wild = acl.field('data.glob_paths') as object;
  assert.deepEqual(Reflect.get(wild, 'demo/+/x*'), { capabilities: ['list', 'read'] });
  const root = await call('GET', 'sys/internal/ui/resultant-acl');
  assert.equal(root.field('data.root'), true);
  const nobody = await call('GET', 'sys/internal/ui/resultant-acl', undefined, { token: '' });
  assert.equal(nobody.status, 403);
});

test('reloading an engine is accepted and does no harm', async (t) => {
  const { call } = await startTestServer(t);
  const reload = (body: object) => call('POST', 'sys/plugins/reload/backend', body);
  assert.equal((await reload({ mounts: ['demo/'] })).status, 200);
  assert.equal((await reload({ plugin: 'pki' })).status, 200);
  assert.equal((await reload({})).status, 400);
  assert.equal((await call('GET', 'sys/plugins/catalog')).field('data.secret.0'), 'pki');
  assert.deepEqual((await call('LIST', 'sys/version-history')).field('data.keys'), ['1.21.5']);
  assert.equal((await call('GET', 'sys/rotate/config')).field('data.enabled'), false);
});

test('both ways to log in work at paths of their own', async (t) => {
  const { call } = await startTestServer(t);
  for (const [path, type] of [
    ['staff/eu', 'userpass'],
    ['machines', 'approle'],
  ]) {
    assert.equal((await call('POST', `sys/auth/${path}`, { type })).status, 204);
  }
  await call('POST', 'auth/staff/eu/users/ann', { password: 'long enough' });
  const ann = await call(
    'POST',
    'auth/staff/eu/login/ann',
    { password: 'long enough' },
    { token: '' },
  );
  assert.equal(ann.status, 200, ann.text);
  assert.match(ann.textAt('auth.entity_id'), /^[0-9a-f-]{36}$/);
  await call('POST', 'auth/machines/role/ci', {});
  const role_id = (await call('GET', 'auth/machines/role/ci/role-id')).textAt('data.role_id');
  const secret = await call('POST', 'auth/machines/role/ci/secret-id', {});
  const secret_id = secret.textAt('data.secret_id');
  const machine = await call('POST', 'auth/machines/login', { role_id, secret_id }, { token: '' });
  assert.equal(machine.status, 200, machine.text);
  const entity = await call('GET', `identity/entity/id/${machine.textAt('auth.entity_id')}`);
  assert.equal(entity.field('data.aliases.0.name'), role_id);
  assert.notEqual(machine.field('auth.entity_id'), ann.field('auth.entity_id'));
});

test('an auth method without an engine is kept, and a log-in there says so', async (t) => {
  const { call } = await startTestServer(t);
  const enabled = await call('POST', 'sys/auth/corp', { type: 'ldap' });
  assert.equal(enabled.status, 200, enabled.text);
  assert.match(enabled.textAt('warnings.0'), /type "ldap" have no engine in this version/);
  for (const type of ['userpass', 'approle']) {
    const quiet = await call('POST', `sys/auth/${type}`, { type });
    assert.deepEqual([quiet.status, quiet.text], [204, '']);
  }
  assert.equal((await call('GET', 'sys/auth/corp')).field('data.type'), 'ldap');
  for (const path of ['auth/corp/login', 'auth/corp/login/ann']) {
    const refused = await call('POST', path, { password: 'x' }, { token: '' });
    assert.equal(refused.status, 400);
    assert.match(refused.text, /auth methods of type \\"ldap\\" without their engine/);
  }
  const unknown = await call('POST', 'sys/auth/x', { type: 'nonsense' });
  assert.equal(unknown.status, 400);
  assert.match(unknown.text, /nonsense; type is one of userpass, approle/);
});

test('an issued certificate is answered in the fields clients know, and no others', async (t) => {
  const { call } = await startTestServer(t);
  await call('POST', 'demo/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await call('POST', 'demo/roles/web', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  const issued = await call('POST', 'demo/issue/web', { common_name: 'a.test' });
  assert.deepEqual(Object.keys(issued.field('data') as object).sort(), [
    'authority_key_id',
    'ca_chain',
    'certificate',
    'expiration',
    'issuing_ca',
    'not_before',
    'private_key',
    'private_key_type',
    'serial_number',
  ]);
});
