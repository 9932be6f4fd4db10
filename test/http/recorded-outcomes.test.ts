// Whatever a changing request makes, ends or hands out, its record says which.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { writeRecords } from '../support/threads.ts';

const { client, admin, make, project } = await startBroker({ after });
const { call, running } = client;

async function records(): Promise<{ request: { route: string }; response: object }[]> {
  await writeRecords(running);
  const rows = await listRecordsAfter(running.app.db, { node: 'local', seq: 0, limit: 10_000 });
  return rows.map(({ record }) => JSON.parse(record));
}

/** What the last record says that its request came to. */
const lastOutcome = async (): Promise<Record<string, unknown>> => ({
  ...(await records()).at(-1)?.response,
});

const hashOf = (text: string): string =>
  `hmac-sha256:${running.app.barrier.hmac('token', `token:${text}`).toString('hex')}`;

const ok = async (method: string, path: string, body?: object, options = {}) => {
  const answer = await call(method, path, body, options);
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.text}`);
  return answer;
};
const newToken = async (body: object = {}) => {
  const made = await ok('POST', 'auth/token/create', { policies: ['default'], ...body });
  return { text: made.textAt('auth.client_token'), accessor: made.field('auth.accessor') };
};

await ok('POST', 'sys/auth/people', { type: 'userpass' });
await ok('POST', 'sys/auth/machines', { type: 'approle' });
await ok('POST', 'auth/people/users/ann', { password: 'correct horse' });
await ok('POST', 'auth/machines/role/web', { role_id: 'web' });
const people = (await ok('GET', 'sys/auth/people')).textAt('accessor');
// What is read is recorded a little later, and is to be the last of no request.
await records();

test('a token that is made is told by hash and accessor, also one of a chosen text', async () => {
  for (const body of [{}, { id: 'of-my-own-choice' }]) {
    const { text, accessor } = await newToken(body);
    const outcome = await lastOutcome();
    assert.equal(outcome.token, hashOf(text));
    assert.equal(outcome.accessor, accessor);
  }
});

test('a batch token is told by its hash', async () => {
  const { text } = await newToken({ type: 'batch' });
  const outcome = await lastOutcome();
  assert.equal(outcome.token, hashOf(text));
  assert.ok(!('accessor' in outcome));
});

const about: [what: string, method: string, path: string][] = [
  ['looked up', 'POST', 'auth/token/lookup'],
  ['renewed', 'POST', 'auth/token/renew'],
  ['asked about', 'POST', 'sys/capabilities'],
  ['revoked', 'POST', 'auth/token/revoke'],
  ['revoked as an orphan', 'POST', 'auth/token/revoke-orphan'],
];
for (const [what, method, path] of about) {
  test(`a token that is ${what} is told by hash and accessor, and by hash where there is none`, async () => {
    const { text, accessor } = await newToken();
    await ok(method, path, { token: text, paths: ['x'] });
    const { token, accessor: told } = await lastOutcome();
    assert.deepEqual([token, told], [hashOf(text), accessor]);

    const unknown = `hvs.${'x'.repeat(24)}`;
    await call(method, path, { token: unknown, paths: ['x'] });
    assert.equal((await lastOutcome()).token, hashOf(unknown));
  });
}

test('a log-in is told by token and entity', async () => {
  const body = { password: 'correct horse' };
  const answer = await ok('POST', 'auth/people/login/ann', body, { token: '' });
  const { accessor, entity_id } = await lastOutcome();
  assert.equal(accessor, answer.field('auth.accessor'));
  assert.equal(entity_id, answer.field('auth.entity_id'));
});

test('a secret ID is told by its accessor when it is made, used, looked up and destroyed', async () => {
  const role = 'auth/machines/role/web';
  const made = await ok('POST', `${role}/secret-id`, {});
  const [secret_id, accessor] = [
    made.textAt('data.secret_id'),
    made.textAt('data.secret_id_accessor'),
  ];
  const told = async () => (await lastOutcome()).secret_id_accessor;
  assert.equal(await told(), accessor);
  const answer = await ok(
    'POST',
    'auth/machines/login',
    { role_id: 'web', secret_id },
    { token: '' },
  );
  assert.equal(await told(), accessor);
  assert.equal((await lastOutcome()).accessor, answer.field('auth.accessor'));
  for (const verb of ['lookup', 'destroy']) {
    await ok('POST', `${role}/secret-id/${verb}`, { secret_id });
    assert.equal(await told(), accessor, verb);
  }
  await ok('POST', `${role}/secret-id/destroy`, { secret_id });
  assert.equal((await lastOutcome()).secret_id, hashOf(secret_id));
});

test('entities, groups and aliases are told by their ids, and from whom an alias is taken', async () => {
  const one = (await ok('POST', 'identity/entity', { name: 'one' })).textAt('data.id');
  assert.equal((await lastOutcome()).entity_id, one);
  await ok('POST', 'identity/entity', { name: 'one', policies: ['p'] });
  assert.equal((await lastOutcome()).entity_id, one, 'changed by its name');
  const two = (await ok('POST', 'identity/entity', {})).textAt('data.id');
  const group = await ok('POST', 'identity/group', { member_entity_ids: [one] });
  assert.equal((await lastOutcome()).group_id, group.textAt('data.id'));
  const alias = { name: 'al', mount_accessor: people };
  const made = await ok('POST', 'identity/entity-alias', { ...alias, canonical_id: one });
  const alias_id = made.textAt('data.id');
  await ok('POST', 'identity/entity-alias', { ...alias, canonical_id: two });
  assert.deepEqual(await lastOutcome(), {
    status: 'done',
    alias_id,
    entity_id: two,
    taken_from_entity_id: one,
  });
});

test('an answer that is unwrapped is told by the accessor that its wrapping was', async () => {
  const headers = { 'x-vault-wrap-ttl': '60' };
  const wrapped = await ok('GET', 'sys/mounts', undefined, { headers });
  const accessor = wrapped.textAt('wrap_info.accessor');
  const token = wrapped.textAt('wrap_info.token');
  const again = await ok('POST', 'sys/wrapping/rewrap', { token });
  assert.equal((await lastOutcome()).unwrapped_accessor, accessor);
  await ok('POST', 'sys/wrapping/unwrap', { token: again.textAt('wrap_info.token') });
  const { unwrapped_accessor } = await lastOutcome();
  assert.equal(unwrapped_accessor, again.textAt('wrap_info.accessor'));
});

test('each certificate that a session is given is told, and where it leads', async () => {
  await ok('POST', 'sys/mounts/pki', { type: 'pki' });
  await ok('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
  await ok('POST', 'pki/roles/web', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
  const store = await make('credential-stores', {
    scope_id: project,
    type: 'authority',
    attributes: { mount: 'pki' },
  });
  const libraries: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    const attributes = { role: 'web', common_name: `${name}.example.com`, ttl: '10m' };
    const type = 'authority-certificate';
    libraries.push(
      await make('credential-libraries', { credential_store_id: store, type, attributes }),
    );
  }
  const target = await make('targets', {
    scope_id: project,
    type: 'tcp',
    name: 'three',
    address: '192.0.2.7',
    attributes: { default_port: 22 },
  });
  await ok('POST', `targets/${target}:add-credential-sources`, {
    version: 1,
    brokered_credential_source_ids: libraries,
  });
  const answer = await admin('POST', `targets/${target}:authorize-session`, {});
  assert.equal(answer.status, 200, answer.text);
  const { credentials, endpoint, session_id } = await lastOutcome();
  assert.equal(endpoint, 'tcp://192.0.2.7:22');
  assert.ok(Array.isArray(credentials));
  const handed = answer.field('credentials');
  assert.ok(Array.isArray(handed));
  const serials = handed.map(({ secret }) => secret.decoded.serial_number).sort();
  assert.equal(serials.length, 3);
  assert.deepEqual(credentials.map(({ serial_number }) => serial_number).sort(), serials);
  assert.deepEqual(credentials.map(({ source_id }) => source_id).sort(), libraries.sort());
  assert.equal(session_id, answer.field('session_id'));
});

test('a lease that is ended is told with the certificate that it revokes', async () => {
  await ok('POST', 'pki/roles/leased', {
    allow_any_name: true,
    key_type: 'ec',
    ttl: '1h',
    generate_lease: true,
  });
  const issued = await ok('POST', 'pki/issue/leased', { common_name: 'a.example.com' });
  const lease_id = issued.textAt('lease_id');
  await ok('POST', 'sys/leases/revoke', { lease_id });
  const outcome = await lastOutcome();
  assert.equal(outcome.lease_id, lease_id);
  assert.equal(outcome.serial_number, issued.field('data.serial_number'));
});

const unread: [why: string, sent: object | string, isUnauthenticated: boolean][] = [
  ['that is not permitted', { password: 'correct horse' }, true],
  ['whose body is none', '{"password":', false],
];
for (const [why, sent, isUnauthenticated] of unread) {
  test(`the record of a request ${why} says whom its path names, and nothing of its body`, async () => {
    const { text } = await newToken();
    const refused = await call('POST', 'auth/people/users/ann', sent, {
      ...(isUnauthenticated && { token: text }),
    });
    assert.ok(refused.status === (isUnauthenticated ? 403 : 400), refused.text);
    const last = (await records()).at(-1);
    assert.deepEqual(last?.request, { ...last?.request, data: { username: 'ann' } });
    assert.equal(Reflect.get(last?.response ?? {}, 'status'), 'refused');
  });
}
