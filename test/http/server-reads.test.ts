/** What a server tells of itself, its mounts and its ways to log in. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
const open = (path: string) => call('GET', path, undefined, { token: '' });
const namesIn = (data: unknown): string[] => Object.keys(data ?? {}).sort();

before(async () => {
  const config = { max_lease_ttl: '3600s' };
  await call('POST', 'sys/mounts/team/ca', { type: 'pki', description: 'of the team', config });
});

const MOUNT = [
  'accessor',
  'config',
  'deprecation_status',
  'description',
  'external_entropy_access',
  'local',
  'options',
  'plugin_version',
  'running_plugin_version',
  'running_sha256',
  'seal_wrap',
  'type',
  'uuid',
];

test('a mount is told with every setting, alone and among all, in the data and beside it', async () => {
  const alone = await call('GET', 'sys/mounts/team/ca');
  const all = await call('GET', 'sys/mounts');
  assert.deepEqual(namesIn(alone.field('data')), MOUNT);
  assert.match(alone.textAt('data.accessor'), /^pki_[0-9a-f]{8}$/);
  assert.deepEqual(alone.field('data.config'), {
    default_lease_ttl: 0,
    force_no_cache: false,
    max_lease_ttl: 3600,
  });
  assert.deepEqual(all.field('data.team/ca/'), alone.field('data'));
  assert.deepEqual(all.field('team/ca/'), alone.field('data'));
  assert.equal(alone.field('type'), 'pki');
  for (const own of ['sys/', 'cubbyhole/', 'identity/']) {
    assert.deepEqual(namesIn(all.field(`data.${own}`)), MOUNT, own);
  }
  const none = await call('GET', 'sys/mounts/team');
  assert.equal(none.status, 400);
  assert.match(none.text, /No secret engine mount at team\//);
  assert.equal((await call('DELETE', 'sys/mounts/team')).status, 204);
  assert.equal((await call('GET', 'sys/mounts/team/ca')).status, 200);
});

test('what a mount is tuned to is told as what is in force', async () => {
  const tuned = await call('GET', 'sys/mounts/team/ca/tune');
  const inForce = { default_lease_ttl: 3600, max_lease_ttl: 3600 };
  assert.deepEqual(tuned.field('data'), {
    ...inForce,
    description: 'of the team',
    force_no_cache: false,
  });
  assert.equal(tuned.field('max_lease_ttl'), 3600);
  await call('POST', 'sys/mounts/plain', { type: 'pki' });
  const plain = await call('GET', 'sys/mounts/plain/tune');
  assert.equal(plain.field('data.default_lease_ttl'), 2_764_800);
  assert.equal(plain.field('data.max_lease_ttl'), 2_764_800);
});

test('a mount has moved when that is answered', async () => {
  await call('POST', 'sys/mounts/here', { type: 'pki' });
  await call('POST', 'here/roles/x', {});
  const moved = await call('POST', 'sys/remount', { from: 'here', to: 'there' });
  assert.equal(moved.status, 200, moved.text);
  assert.equal((await call('GET', 'there/roles/x')).status, 200);
  assert.equal((await call('GET', 'here/roles/x')).status, 404);
  const migration_id = moved.textAt('data.migration_id');
  const status = await call('GET', `sys/remount/status/${migration_id}`);
  assert.deepEqual(status.field('data'), {
    migration_id,
    migration_info: { source_mount: 'here/', status: 'success', target_mount: 'there/' },
  });
  const refusals: [from: string, to: string, says: RegExp][] = [
    ['here', 'x', /no matching mount at/],
    ['there', 'team/ca', /path already in use at \\"team\/ca\/\\"/],
  ];
  for (const [from, to, says] of refusals) {
    const answer = await call('POST', 'sys/remount', { from, to });
    assert.equal(answer.status, 400, answer.text);
    assert.match(answer.text, says);
  }
});

test('a mount is told to whoever may use it, and no other is told from none', async () => {
  const told = await call('GET', 'sys/internal/ui/mounts/team/ca');
  assert.deepEqual(namesIn(told.field('data')), [...MOUNT, 'path'].sort());
  assert.equal(told.field('data.path'), 'team/ca/');
  const made = await call('POST', 'auth/token/create', { policies: ['default'] });
  const token = made.textAt('auth.client_token');
  for (const path of ['team/ca', 'nowhere']) {
    const answer = await call('GET', `sys/internal/ui/mounts/${path}`, undefined, { token });
    assert.equal(answer.status, 403);
    assert.match(answer.text, /preflight capability check returned 403/);
  }
  const unauthenticated = await open('sys/internal/ui/mounts');
  assert.deepEqual(unauthenticated.field('data'), { auth: {}, secret: {} });
});

test('whether a server is sealed and well is told to anybody, bare and in full', async () => {
  const seal = await open('sys/seal-status');
  assert.deepEqual(namesIn(JSON.parse(seal.text)), [
    'build_date',
    'cluster_id',
    'cluster_name',
    'initialized',
    'migration',
    'n',
    'nonce',
    'progress',
    'recovery_seal',
    'sealed',
    'storage_type',
    't',
    'type',
    'version',
  ]);
  const health = await open('sys/health');
  assert.equal(health.status, 200);
  assert.deepEqual(namesIn(JSON.parse(health.text)), [
    'clock_skew_ms',
    'cluster_id',
    'cluster_name',
    'echo_duration_ms',
    'enterprise',
    'initialized',
    'performance_standby',
    'replication_dr_mode',
    'replication_performance_mode',
    'sealed',
    'server_time_utc',
    'standby',
    'version',
  ]);
  assert.match(health.textAt('version'), /^1\.21\.\d+$/);
  assert.equal(health.field('version'), seal.field('version'));
  assert.equal((await open('sys/health?activecode=299')).status, 299);
});

test('there is the root namespace and no other', async () => {
  for (const [namespace, status] of [
    ['root', 200],
    ['', 200],
    ['/', 200],
    ['team', 404],
  ] as const) {
    const headers = { 'x-vault-namespace': namespace };
    const answer = await call('GET', 'sys/mounts', undefined, { headers });
    assert.equal(answer.status, status, namespace);
  }
});

test('a token is sent by either header, and headers that clients send besides change nothing', async () => {
  const headers = { authorization: 'Bearer root', 'x-vault-request': 'true', 'x-vault-index': '1' };
  const answer = await call('GET', 'sys/mounts', undefined, { token: '', headers });
  assert.equal(answer.status, 200);
  const none = await call('GET', 'sys/mounts', undefined, {
    token: '',
    headers: { ...headers, authorization: 'Basic root' },
  });
  assert.equal(none.status, 403);
});

test('the root token and one that is made are told with what clients read of them', async () => {
  const root = await call('GET', 'auth/token/lookup-self');
  const fields = [
    'accessor',
    'creation_time',
    'creation_ttl',
    'display_name',
    'entity_id',
    'expire_time',
    'explicit_max_ttl',
    'id',
    'issue_time',
    'meta',
    'num_uses',
    'orphan',
    'path',
    'policies',
    'renewable',
    'ttl',
    'type',
  ];
  assert.deepEqual(namesIn(root.field('data')), fields);
  assert.equal(root.field('data.expire_time'), null);
  assert.equal(root.field('data.path'), 'auth/token/root');
  const made = await call('POST', 'auth/token/create', { policies: ['nothing'], ttl: '20m' });
  assert.deepEqual(made.field('warnings'), ['Policy "nothing" does not exist']);
  const { accessor, client_token, ...auth } = made.field('auth') as Record<string, unknown>;
  assert.match(String(client_token), /^hvs\.\w{24}$/);
  assert.equal(typeof accessor, 'string');
  assert.deepEqual(auth, {
    entity_id: '',
    lease_duration: 1200,
    metadata: null,
    mfa_requirement: null,
    num_uses: 0,
    orphan: false,
    policies: ['default', 'nothing'],
    renewable: true,
    token_policies: ['default', 'nothing'],
    token_type: 'service',
  });
});

test('users and AppRoles are told with every setting, and no secret', async () => {
  const token = {
    token_bound_cidrs: [],
    token_explicit_max_ttl: 0,
    token_max_ttl: 0,
    token_no_default_policy: false,
    token_num_uses: 0,
    token_period: 0,
    token_policies: [],
    token_strictly_bind_ip: false,
    token_ttl: 0,
    token_type: 'default',
  };
  await call('POST', 'sys/auth/people', { type: 'userpass' });
  const written = await call('POST', 'auth/people/users/bob', { password: 'long enough' });
  assert.equal(written.status, 204);
  assert.deepEqual((await call('GET', 'auth/people/users/bob')).field('data'), token);
  assert.equal((await call('DELETE', 'auth/people/users/nobody')).status, 204);
  assert.equal((await call('GET', 'auth/people/users/nobody')).status, 404);

  await call('POST', 'sys/auth/machines', { type: 'approle' });
  assert.equal((await call('POST', 'auth/machines/role/ci', {})).status, 204);
  assert.deepEqual((await call('GET', 'auth/machines/role/ci')).field('data'), {
    ...token,
    bind_secret_id: true,
    local_secret_ids: false,
    secret_id_bound_cidrs: null,
    secret_id_num_uses: 0,
    secret_id_ttl: 0,
  });
  const secret = await call('POST', 'auth/machines/role/ci/secret-id', {});
  assert.deepEqual(namesIn(secret.field('data')), [
    'secret_id',
    'secret_id_accessor',
    'secret_id_num_uses',
    'secret_id_ttl',
  ]);
  const auth = await call('GET', 'sys/auth/people');
  assert.match(auth.textAt('data.accessor'), /^auth_userpass_[0-9a-f]{8}$/);
  assert.equal(auth.field('data.config.token_type'), 'default-service');
  const none = await call('GET', 'sys/auth/none');
  assert.equal(none.status, 400);
  assert.match(none.text, /No auth engine at none\//);
});

test('a policy is told as policy on its own path and as rules on the path of old', async () => {
  const policy = 'path "x" { capabilities = ["read"] }';
  const written = await call('PUT', 'sys/policies/acl/One', { policy });
  assert.deepEqual(written.field('warnings'), ['policy name was converted to "one"']);
  const read = await call('GET', 'sys/policies/acl/one');
  const modified = read.textAt('data.modified');
  assert.match(modified, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.000Z$/);
  const facts = { version: 1, modified, cas_required: false };
  assert.deepEqual(read.field('data'), { name: 'one', policy, ...facts });
  const old = await call('GET', 'sys/policy/one');
  assert.deepEqual(old.field('data'), { name: 'one', rules: policy, ...facts });
  assert.equal(old.field('rules'), policy);
  assert.equal(old.field('data.policy'), undefined);
  const list = await call('GET', 'sys/policy');
  assert.deepEqual(list.field('data.policies'), list.field('data.keys'));
  assert.equal((await call('GET', 'sys/policies/acl/two')).status, 404);
  assert.equal((await call('DELETE', 'sys/policies/acl/two')).status, 204);
});
