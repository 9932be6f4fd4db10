import assert from 'node:assert/strict';
import { createHmac, X509Certificate } from 'node:crypto';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { leaseJobs } from '../../src/access/leases/jobs.ts';
import { readInjectedCredentials } from '../../src/broker/credentials/of-sessions/injected.operations.ts';
import { revokeSessionCredentials } from '../../src/broker/sessions/credentials/termination.operations.ts';
import { vaultJobs } from '../../src/broker/vault/leases/jobs.ts';
import { SEED_DEFAULTS } from '../../src/config/seed.ts';
import { blake2b256 } from '../../src/core/blake2b.ts';
import { runIfFree } from '../../src/start/jobs.ts';
import { type Reply, startTestServer } from '../support/server.ts';
import { SSH_HOST_KEY } from '../support/ssh-host-key.ts';
import { type FakeToken, GOOD_TOKEN, startFakeVault } from '../support/vault.ts';

let late = 0;
const { call, running, url } = await startTestServer(
  { after },
  { config: { seed: SEED_DEFAULTS }, now: () => Date.now() + late },
);
const { app } = running;
const vault = await startFakeVault();
after(() => vault.stop());

const PROJECT = 'p_1234567890';

async function logIn(login_name: string): Promise<string> {
  const attributes = { login_name, password: 'password' };
  const path = 'auth-methods/ampw_1234567890:authenticate';
  const answer = await call('POST', path, { attributes }, { token: '' });
  assert.equal(answer.status, 200, answer.text);
  return answer.textAt('attributes.token');
}

let token = await logIn('admin');
const ask = (method: string, path: string, body?: object): Promise<Reply> =>
  call(method, path, body, { token });

async function made(path: string, body: object): Promise<string> {
  const answer = await ask('POST', path, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.textAt('id');
}

function faults(answer: Reply): Record<string, string> {
  assert.equal(answer.status, 400, answer.text);
  const fields = answer.field('details.request_fields');
  assert.ok(Array.isArray(fields), answer.text);
  return Object.fromEntries(
    fields.map((one: { name: string; description: string }) => [one.name, one.description]),
  );
}

const vaultStore = (attributes: object): object => ({
  scope_id: PROJECT,
  type: 'vault',
  attributes: { address: vault.url, token: 'good', ...attributes },
});
const store = await made('credential-stores', vaultStore({}));

const library = (attributes: object, more: object = {}): Promise<string> =>
  made('credential-libraries', {
    credential_store_id: store,
    type: 'vault-generic',
    attributes,
    ...more,
  });

/** A target with an address, and these sources. */
async function targetOf(sources: object): Promise<string> {
  const answer = await ask('POST', 'targets', {
    scope_id: PROJECT,
    type: 'tcp',
    name: `target ${Math.random()}`,
    address: '127.0.0.1',
    attributes: { default_port: 22 },
  });
  const id = answer.textAt('id');
  const set = await ask('POST', `targets/${id}:set-credential-sources`, { version: 1, ...sources });
  assert.equal(set.status, 200, set.text);
  return id;
}

const brokered = (...ids: string[]): Promise<string> =>
  targetOf({ brokered_credential_source_ids: ids });
const authorize = (id: string): Promise<Reply> =>
  ask('POST', `targets/${id}:authorize-session`, {});

async function countSessions(): Promise<number> {
  const answer = await ask('GET', `sessions?scope_id=${PROJECT}&include_terminated=true`);
  const items = answer.field('items');
  return Array.isArray(items) ? items.length : 0;
}

test('a Vault store is tried when it is made, and shows neither token nor key', async () => {
  const answer = await ask('GET', `credential-stores/${store}`);
  assert.match(store, /^csvlt_/);
  const token_hmac = createHmac('sha256', blake2b256(Buffer.from('accessor')))
    .update('good')
    .digest('base64url');
  assert.deepEqual(answer.field('attributes'), {
    address: vault.url,
    token_hmac,
    token_status: 'current',
  });
  assert.equal(token_hmac.length, 43);
  assert.deepEqual(answer.field('authorized_collection_actions'), {
    'credential-libraries': ['create', 'list'],
  });
});

const unfit: [why: string, token: Partial<FakeToken>, because: RegExp][] = [
  ['has a parent', { orphan: false }, /orphan/],
  ['is not periodic', { period: 0 }, /periodic/],
  ['is not renewable', { renewable: false }, /renewable/],
  ['may not revoke leases', { capabilities: { 'sys/leases/renew': ['update'] } }, /missing capab/],
];

for (const [why, change, because] of unfit) {
  test(`a token that ${why} is no token for a store`, async () => {
    vault.tokens.set('unfit', { ...GOOD_TOKEN, ...change });
    const answer = await ask('POST', 'credential-stores', vaultStore({ token: 'unfit' }));
    assert.match(faults(answer)['attributes.token'] ?? '', because);
  });
}

test('what is wrong with a Vault store is said by attribute', async () => {
  const missing = await ask('POST', 'credential-stores', {
    scope_id: PROJECT,
    type: 'vault',
    attributes: { namespace: 'x' },
  });
  const required = 'Field required for creating a vault credential store.';
  assert.deepEqual(faults(missing), {
    'attributes.address': required,
    'attributes.token': required,
  });
  const none = await ask('POST', 'credential-stores', { scope_id: PROJECT, type: 'vault' });
  assert.deepEqual(faults(none), {
    attributes: 'Attributes are required for creating a vault credential store',
  });
  const cases: [change: object, field: string][] = [
    [{ token: 'unknown' }, 'attributes.token'],
    [{ token: 'with\nline' }, 'attributes.token'],
    [{ address: 'http://127.0.0.1:1' }, 'attributes.address'],
    [{ address: 'ftp://127.0.0.1' }, 'attributes.address'],
    [{ ca_cert: 'junk' }, 'attributes.ca_cert'],
    [{ client_certificate: 'junk' }, 'attributes.client_certificate'],
    [{ token_status: 'current' }, 'attributes.token_status'],
  ];
  for (const [change, field] of cases) {
    const answer = await ask('POST', 'credential-stores', vaultStore(change));
    assert.deepEqual(Object.keys(faults(answer)), [field], JSON.stringify(change));
    assert.doesNotMatch(answer.text, /good/);
  }
});

test('no redirect is followed, so the token goes to nobody else', async () => {
  const other = await startFakeVault();
  after(() => other.stop());
  vault.tokens.set('moved', GOOD_TOKEN);
  const moved = { status: 307, body: {}, headers: { location: `${other.url}/v1/x` } };
  vault.answers.set('GET auth/token/lookup-self', moved);
  const answer = await ask('POST', 'credential-stores', vaultStore({}));
  vault.answers.clear();
  assert.match(faults(answer)['attributes.address'] ?? '', /status 307/);
  assert.equal(other.requests.length, 0);
});

test('the namespace of a store goes with each of its requests', async () => {
  const from = vault.requests.length;
  vault.tokens.set('team', { ...GOOD_TOKEN, accessor: 'team' });
  await made('credential-stores', vaultStore({ namespace: 'team/a', token: 'team' }));
  const asked = vault.requests.slice(from);
  assert.ok(asked.length > 0);
  assert.ok(asked.every(({ namespace }) => namespace === 'team/a'));
});

test('libraries have their fields and refusals', async () => {
  const id = await library(
    { path: 'secret/data/{{.User.Id}}', http_method: 'post', http_request_body: '{}' },
    {
      type: 'vault',
      credential_type: 'username_password',
      credential_mapping_overrides: { username_attribute: 'user' },
    },
  );
  const read = await ask('GET', `credential-libraries/${id}`);
  assert.match(id, /^clvlt_/);
  assert.equal(read.textAt('type'), 'vault-generic');
  assert.equal(read.textAt('credential_type'), 'username_password');
  assert.deepEqual(read.field('credential_mapping_overrides'), { username_attribute: 'user' });
  assert.deepEqual(read.field('attributes'), {
    path: 'secret/data/{{.User.Id}}',
    http_method: 'POST',
    http_request_body: '{}',
  });
  const refused: [body: object, field: string, because: RegExp][] = [
    [{ attributes: {} }, 'attributes.path', /required/],
    [{ attributes: { path: 'a/{{.User.Secret}}' } }, 'attributes.path', /Invalid template/],
    [
      { attributes: { path: 'a', http_method: 'PUT' } },
      'attributes.http_method',
      /'GET' or 'POST'/,
    ],
    [{ attributes: { path: 'a', http_request_body: 'x' } }, 'attributes.http_request_body', /POST/],
    [{ credential_type: 'json', attributes: { path: 'a' } }, 'credential_type', /Unknown/],
    [
      { credential_mapping_overrides: { username_attribute: 'x' }, attributes: { path: 'a' } },
      'credential_mapping_overrides',
      /credential_type/,
    ],
    [
      { type: 'vault-ssh-certificate', attributes: { path: 'ssh/sign/a' } },
      'attributes.username',
      /required/,
    ],
    [{ type: 'kv', attributes: { path: 'a' } }, 'type', /one of/],
    [{ type: 'vault-ldap', attributes: { path: 'ldap/config' } }, 'attributes.path', /creds/],
  ];
  for (const [body, field, because] of refused) {
    const answer = await ask('POST', 'credential-libraries', {
      credential_store_id: store,
      ...body,
    });
    assert.match(faults(answer)[field] ?? '', because, JSON.stringify(body));
  }
  const change = (body: object): Promise<Reply> => ask('PATCH', `credential-libraries/${id}`, body);
  const type = await change({ version: 1, credential_type: 'password', name: 'x' });
  assert.deepEqual(faults(type), { credential_type: 'Cannot modify credential type.' });
  const method = await change({ version: 1, attributes: { http_method: null } });
  assert.match(faults(method)['attributes.http_request_body'] ?? '', /POST/);
  const cleared = await change({
    version: 1,
    credential_mapping_overrides: { username_attribute: null, password_attribute: 'pass' },
  });
  assert.deepEqual(cleared.field('credential_mapping_overrides'), { password_attribute: 'pass' });
  const emptied = await change({ version: 2, credential_mapping_overrides: null });
  assert.equal(emptied.field('credential_mapping_overrides'), undefined);
});

test('a session gets what its library says, before what is stored', async () => {
  vault.answers.set('GET secret/data/u_1234567890/admin', {
    body: { data: { data: { username: 'kv', password: 'p' }, metadata: { version: 1 } } },
  });
  const id = await library(
    { path: 'secret/data/{{.User.Id}}/{{.Account.LoginName}}' },
    { credential_type: 'username_password', name: 'kv' },
  );
  const plain = await library({ path: 'secret/data/u_1234567890/admin' });
  const stores = await made('credential-stores', { scope_id: PROJECT, type: 'static' });
  const stored = await made('credentials', {
    credential_store_id: stores,
    type: 'username_password',
    attributes: { username: 'u', password: 'p' },
  });
  const answer = await authorize(await brokered(stored, id, plain));
  assert.equal(answer.status, 200, answer.text);
  const credentials = answer.field('credentials') as Record<string, Record<string, unknown>>[];
  assert.equal(credentials.length, 3);
  const mine = credentials.find((one) => one.credential_source?.id === id);
  assert.deepEqual(mine?.credential_source, {
    id,
    name: 'kv',
    credential_store_id: store,
    type: 'vault-generic',
    credential_type: 'username_password',
  });
  assert.deepEqual(mine?.credential, { username: 'kv', password: 'p' });
  assert.deepEqual(mine?.secret?.decoded, {
    data: { username: 'kv', password: 'p' },
    metadata: { version: 1 },
  });
  const bare = credentials.find((one) => one.credential_source?.id === plain);
  assert.equal(bare?.credential, undefined);
  assert.equal(bare?.credential_source?.credential_type, undefined);
  const last = credentials.at(-1);
  assert.equal(last?.credential_source?.type, 'static', 'stored ones come last');
  assert.deepEqual(last?.secret?.decoded, last?.credential);
  assert.deepEqual(
    JSON.parse(Buffer.from(String(last?.secret?.raw), 'base64').toString()),
    last?.credential,
  );
});

test('each session has a credential of its own, which ends with it', async () => {
  const id = await brokered(await library({ path: 'database/creds/app' }));
  const [first, second] = [await authorize(id), await authorize(id)];
  const nameOf = (answer: Reply): string => answer.textAt('credentials.0.secret.decoded.username');
  assert.notEqual(nameOf(first), nameOf(second));
  assert.notEqual(first.textAt('session_id'), second.textAt('session_id'));
  assert.equal(vault.leases.size, 2);
  const session_id = first.textAt('session_id');
  const cancel = await ask('POST', `sessions/${session_id}:cancel`, { version: 1 });
  assert.equal(cancel.status, 200, cancel.text);
  await revokeSessionCredentials(app, [session_id]);
  assert.equal(vault.leases.size, 1);
  const left = await call('LIST', 'sys/leases/lookup/broker/sessions', undefined, {});
  assert.deepEqual(left.field('data.keys'), [`${second.textAt('session_id')}/`]);
});

test('a credential is renewed while its session lives', async () => {
  const from = vault.requests.length;
  const renewed = () =>
    vault.requests.slice(from).filter(({ path }) => path === 'sys/leases/renew');
  late += 40_000;
  // The server's own timer may have the jobs just now.
  while (renewed().length === 0) {
    for (const job of vaultJobs) await runIfFree(app, job);
    await wait(50);
  }
  const renewals = renewed();
  late += 10_000;
  for (const job of vaultJobs) await runIfFree(app, job);
  assert.equal(renewed().length, renewals.length, 'not before half of its time is over');
});

test('a Vault server that refuses leaves no session and gives nothing away', async () => {
  const before = await countSessions();
  const leases = vault.leases.size;
  vault.answers.set('GET secret/broken', { status: 500, body: { errors: ['no such engine'] } });
  const broken = await library({ path: 'secret/broken' });
  const works = await library({ path: 'database/creds/app' });
  const answer = await authorize(await brokered(works, broken));
  assert.equal(answer.status, 500);
  assert.equal(answer.textAt('kind'), 'Internal');
  assert.match(answer.textAt('message'), /no such engine/);
  assert.equal(await countSessions(), before);
  assert.equal(vault.leases.size, leases, 'what was issued is given back');
  const missing = await library(
    { path: 'database/creds/app' },
    { credential_type: 'ssh_private_key' },
  );
  const unmapped = await authorize(await brokered(missing));
  assert.equal(unmapped.status, 500);
  assert.match(unmapped.textAt('message'), /no "private_key"/);
  assert.equal(vault.leases.size, leases);
});

test('a name never leads to another path of the Vault server', async () => {
  const id = await library({ path: 'secret/{{.User.Email}}/db' });
  const from = vault.requests.length;
  const answer = await authorize(await brokered(id));
  assert.equal(answer.status, 400, answer.text);
  assert.equal(vault.requests.length, from);
});

test('injected credentials are sealed for the worker and not in the answer', async () => {
  vault.answers.set('POST ssh/sign/role', { body: { data: { signed_key: 'ssh-cert\n' } } });
  const cert = await made('credential-libraries', {
    credential_store_id: store,
    type: 'vault-ssh-certificate',
    attributes: {
      path: 'ssh/sign/role',
      username: '{{.Account.LoginName}}',
      key_type: 'ecdsa',
      key_bits: 256,
      extensions: { 'permit-pty': '' },
      additional_valid_principals: ['web'],
    },
  });
  const target = await ask('POST', 'targets', {
    scope_id: PROJECT,
    type: 'ssh',
    name: 'injected',
    address: '127.0.0.1',
    attributes: { host_keys: [SSH_HOST_KEY] },
  });
  const refused = await ask('POST', `targets/${target.textAt('id')}:set-credential-sources`, {
    version: 1,
    brokered_credential_source_ids: [cert],
  });
  assert.ok(faults(refused).brokered_credential_source_ids);
  const set = await ask('POST', `targets/${target.textAt('id')}:set-credential-sources`, {
    version: 1,
    injected_application_credential_source_ids: [cert],
  });
  assert.equal(set.status, 200, set.text);
  const answer = await authorize(target.textAt('id'));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.field('credentials'), undefined);
  const asked = vault.requests.findLast(({ path }) => path === 'ssh/sign/role');
  assert.equal(asked?.body.valid_principals, 'admin,web');
  assert.match(String(asked?.body.public_key), /^ecdsa-sha2-nistp256 /);
  const session_id = answer.textAt('session_id');
  const [kept] = await readInjectedCredentials(app, session_id);
  assert.equal(kept?.credential?.username, 'admin');
  assert.equal(kept?.credential?.certificate, 'ssh-cert');
  assert.match(String(kept?.credential?.private_key), /PRIVATE KEY/);
  assert.equal(kept?.credential_source.credential_type, 'ssh_certificate');
  const rows = await app.db.selectFrom('session_credential').selectAll().execute();
  assert.ok(rows.every((row) => !Buffer.from(row.secret_sealed).includes('PRIVATE KEY')));
});

test('a store whose token is replaced keeps the old one for its leases, then lets it go', async () => {
  vault.tokens.set('next', { ...GOOD_TOKEN, accessor: 'other' });
  const before = await ask('GET', `credential-stores/${store}`);
  const version = before.field('version');
  const answer = await ask('PATCH', `credential-stores/${store}`, {
    version,
    attributes: { token: 'next' },
  });
  assert.equal(answer.status, 200, answer.text);
  assert.notEqual(answer.textAt('attributes.token_hmac'), before.textAt('attributes.token_hmac'));
  assert.ok(vault.tokens.has('good'));
  late += 300_000;
  const runJobs = async (): Promise<void> => {
    for (const job of vaultJobs) await runIfFree(app, job);
  };
  await runJobs();
  assert.ok(vault.tokens.has('good'), 'a lease hangs on it');
  const sessions = await ask('GET', `sessions?scope_id=${PROJECT}`);
  const ids = (sessions.field('items') as { id: string }[]).map(({ id }) => id);
  await revokeSessionCredentials(app, ids);
  late += 300_000;
  await runJobs();
  assert.ok(!vault.tokens.has('good'));
  assert.ok(vault.tokens.has('next'));
  const bad = await ask('PATCH', `credential-stores/${store}`, {
    version: answer.field('version'),
    attributes: { token: 'unknown' },
  });
  assert.ok(faults(bad)['attributes.token']);
});

async function mountAuthority(): Promise<void> {
  const mount = await call('POST', 'sys/mounts/ssl', { type: 'pki' });
  assert.equal(mount.status, 204, mount.text);
  await call('POST', 'ssl/root/generate/internal', { common_name: 'Root', key_type: 'ec' });
  const role = await call('POST', 'ssl/roles/db', {
    allowed_domains: 'db.test',
    allow_subdomains: true,
    key_type: 'ec',
    key_bits: 256,
    max_ttl: '24h',
  });
  assert.equal(role.status, 200, role.text);
}

test('a certificate of our own CA is made for one session and revoked with it', async () => {
  await mountAuthority();
  const own = await made('credential-stores', {
    scope_id: PROJECT,
    type: 'authority',
    attributes: { mount: 'ssl/' },
  });
  assert.match(own, /^csca_/);
  const attributes = { role: 'db', common_name: '{{.Account.LoginName}}.db.test' };
  const body = { credential_store_id: own, type: 'authority-certificate', attributes };
  const id = await made('credential-libraries', body);
  assert.match(id, /^clca_/);
  const answer = await authorize(await brokered(id));
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.textAt('credentials.0.credential_source.credential_type'), 'certificate');
  const pem = answer.textAt('credentials.0.credential.certificate');
  const certificate = new X509Certificate(pem);
  assert.equal(certificate.subject, 'CN=admin.db.test');
  assert.ok(new Date(certificate.validTo) <= new Date(answer.textAt('expiration')));
  assert.match(answer.textAt('credentials.0.credential.private_key'), /PRIVATE KEY/);
  const serial = answer.textAt('credentials.0.credential.serial_number');
  const stored = await call('GET', `ssl/cert/${serial}`);
  assert.equal(stored.field('data.revocation_time'), 0, stored.text);

  const session_id = answer.textAt('session_id');
  assert.equal((await ask('POST', `sessions/${session_id}:cancel`, { version: 1 })).status, 200);
  await revokeSessionCredentials(app, [session_id]);
  const revoked = await call('GET', `ssl/cert/${serial}`);
  assert.notEqual(revoked.field('data.revocation_time'), 0);
});

test('whoever may not issue by a role cannot let sessions have its certificates', async () => {
  // Grants on everything, and no policy of the certificate authority.
  const user = await logIn('user');
  const role = await made('roles', { scope_id: 'global', name: 'all' });
  for (const [verb, field, values] of [
    ['set-grant-scopes', 'grant_scope_ids', ['this', 'descendants']],
    ['set-grants', 'grant_strings', ['ids=*;type=*;actions=*']],
    ['set-principals', 'principal_ids', ['u_0987654321']],
  ] as const) {
    const { version } = JSON.parse((await ask('GET', `roles/${role}`)).text);
    const set = await ask('POST', `roles/${role}:${verb}`, { version, [field]: values });
    assert.equal(set.status, 200, set.text);
  }
  const admin = token;
  token = user;
  const own = await made('credential-stores', {
    scope_id: PROJECT,
    type: 'authority',
    attributes: { mount: 'ssl' },
  });
  const attributes = { role: 'db', common_name: 'x.db.test' };
  const body = { credential_store_id: own, attributes };
  assert.equal((await ask('POST', 'credential-libraries', body)).status, 403);
  token = admin;
  const id = await made('credential-libraries', body);
  token = user;
  const renamed = await ask('PATCH', `credential-libraries/${id}`, { version: 1, name: 'x' });
  assert.equal(renamed.status, 200, 'a name is nothing of the authority');
  const change = { version: 2, attributes: { common_name: 'y.db.test' } };
  assert.equal((await ask('PATCH', `credential-libraries/${id}`, change)).status, 403);
  token = admin;
  assert.equal((await ask('PATCH', `credential-libraries/${id}`, change)).status, 200);
});

test('a name that the role does not allow makes no session', async () => {
  const stores = await ask('GET', `credential-stores?scope_id=${PROJECT}`);
  const items = stores.field('items') as { id: string; type: string }[];
  const own = items.find(({ type }) => type === 'authority')?.id ?? '';
  const id = await made('credential-libraries', {
    credential_store_id: own,
    attributes: { role: 'db', common_name: 'elsewhere.test' },
  });
  const before = await countSessions();
  const answer = await authorize(await brokered(id));
  assert.equal(answer.status, 400, answer.text);
  assert.equal(await countSessions(), before);
  const nowhere = await ask('POST', 'credential-stores', {
    scope_id: PROJECT,
    type: 'authority',
    attributes: { mount: 'sys' },
  });
  assert.ok(faults(nowhere)['attributes.mount']);
});

test('our own server serves as a Vault server', async () => {
  const policy = `path "cubbyhole/*" { capabilities = ["create", "update", "read"] }
    path "ssl/issue/*" { capabilities = ["update"] }
    path "sys/leases/*" { capabilities = ["update"] }`;
  await call('PUT', 'sys/policies/acl/store', { policy });
  const body = { policies: ['store'], period: '1h', renewable: true };
  const own = (await call('POST', 'auth/token/create-orphan', body)).textAt('auth.client_token');
  await call('POST', 'cubbyhole/login', { user: 'a', pass: 'b' }, { token: own });
  await call('POST', 'ssl/roles/leased', {
    allow_any_name: true,
    enforce_hostnames: false,
    key_type: 'ec',
    key_bits: 256,
    generate_lease: true,
  });
  const id = await made('credential-stores', vaultStore({ address: url, token: own }));
  const login = await made('credential-libraries', {
    credential_store_id: id,
    credential_type: 'username_password',
    credential_mapping_overrides: { username_attribute: 'user', password_attribute: '/pass' },
    attributes: { path: 'cubbyhole/login' },
  });
  const issue = await made('credential-libraries', {
    credential_store_id: id,
    attributes: {
      path: 'ssl/issue/leased',
      http_method: 'POST',
      http_request_body: '{"common_name":"{{.User.Name}}","ttl":"1h"}',
    },
  });
  const answer = await authorize(await brokered(login, issue));
  assert.equal(answer.status, 200, answer.text);
  const credentials = answer.field('credentials') as Record<string, Record<string, unknown>>[];
  const by = (source: string) => credentials.find((one) => one.credential_source?.id === source);
  assert.deepEqual(by(login)?.credential, { username: 'a', password: 'b' });
  const decoded = by(issue)?.secret?.decoded as { serial_number: string; certificate: string };
  assert.equal(new X509Certificate(decoded.certificate).subject, 'CN=admin');
  const revoked = async (): Promise<unknown> =>
    (await call('GET', `ssl/cert/${decoded.serial_number}`)).field('data.revocation_time');
  assert.equal(await revoked(), 0);
  const session_id = answer.textAt('session_id');
  await ask('POST', `sessions/${session_id}:cancel`, { version: 1 });
  await revokeSessionCredentials(app, [session_id]);
  // The lease ends off the path of whoever asked for it.
  for (const job of leaseJobs) await runIfFree(app, job);
  assert.notEqual(await revoked(), 0);
});

test('a store that is deleted gives its token back to the Vault server', async () => {
  vault.tokens.set('last', { ...GOOD_TOKEN, accessor: 'last' });
  const id = await made('credential-stores', vaultStore({ token: 'last' }));
  const twin = await made('credential-stores', vaultStore({ token: 'last' }));
  const runJobs = async (): Promise<void> => {
    late += 300_000;
    for (const job of vaultJobs) await runIfFree(app, job);
  };
  assert.equal((await ask('DELETE', `credential-stores/${id}`)).status, 204);
  await runJobs();
  await runJobs();
  assert.ok(vault.tokens.has('last'), 'another store works with it');
  assert.equal((await ask('DELETE', `credential-stores/${twin}`)).status, 204);
  await runJobs();
  await runJobs();
  assert.ok(!vault.tokens.has('last'));
  const rows = await app.db.selectFrom('vault_token').selectAll().execute();
  assert.ok(rows.every(({ store_id }) => store_id !== id && store_id !== twin));
});

test('verbs on credential sources: both lists empty, one list alone, and all kinds', async () => {
  const stores = await made('credential-stores', { scope_id: PROJECT, type: 'static' });
  const stored = (type: string, attributes: object): Promise<string> =>
    made('credentials', { credential_store_id: stores, type, attributes });
  const password = await stored('password', { password: 'p' });
  const pair = await stored('username_password', { username: 'u', password: 'p' });
  const domain = { username: 'u', password: 'p', domain: 'd' };
  const triple = await stored('username_password_domain', domain);
  const object = await stored('json', { object: { a: 1 } });
  const generic = await library({ path: 'secret/a' });

  const id = await brokered(password, pair, triple, generic);
  const verb = (name: string, body: object): Promise<Reply> =>
    ask('POST', `targets/${id}:${name}-credential-sources`, body);
  for (const name of ['add', 'remove']) {
    const found = faults(await verb(name, { version: 2 }));
    const because = 'Brokered or Injected Application Credential Source IDs must be provided.';
    assert.deepEqual(found, {
      brokered_credential_source_ids: because,
      injected_application_credential_source_ids: because,
    });
  }
  const injected = { version: 2, injected_application_credential_source_ids: [object] };
  assert.ok(faults(await verb('add', injected)).injected_application_credential_source_ids);
  const set = await verb('set', { version: 2, brokered_credential_source_ids: [pair] });
  assert.equal(set.status, 200, set.text);
  assert.deepEqual(set.field('brokered_credential_source_ids'), [pair]);
  assert.equal(set.field('injected_application_credential_source_ids'), undefined);
  // A credential that is deleted is no longer a source of any target.
  assert.equal((await ask('DELETE', `credentials/${pair}`)).status, 204);
  const read = await ask('GET', `targets/${id}`);
  assert.equal(read.field('brokered_credential_source_ids'), undefined);
});

test('what a Vault server could not be told is told later', async () => {
  vault.tokens.set('late', { ...GOOD_TOKEN, accessor: 'late' });
  const id = await made('credential-stores', vaultStore({ token: 'late' }));
  const body = { credential_store_id: id, attributes: { path: 'database/creds/app' } };
  const answer = await authorize(await brokered(await made('credential-libraries', body)));
  const alive = vault.leases.size;
  const session_id = answer.textAt('session_id');
  await ask('POST', `sessions/${session_id}:cancel`, { version: 1 });
  vault.down = true;
  await revokeSessionCredentials(app, [session_id]);
  vault.down = false;
  assert.equal(vault.leases.size, alive);
  // What the cancelling begins may fail after that.
  for (let run = 0; run < 2; run++) {
    late += 20_000;
    for (const job of leaseJobs) await runIfFree(app, job);
  }
  assert.equal(vault.leases.size, alive - 1);
});

test('no record holds a secret of all that went before', async () => {
  const rows = await app.db.selectFrom('audit_entry').select('record').execute();
  assert.ok(rows.length > 50);
  assert.ok(rows.some(({ record }) => record.includes('session_id')));
  for (const { record } of rows) {
    assert.doesNotMatch(record, /secret-\d|PRIVATE KEY|"(password|private_key)":|v-app-/);
  }
});

test('an address that leads inwards is refused as one, and its server hears nothing', async (t) => {
  const { credential_stores } = running.app.config;
  const strict = await startTestServer(t, {
    config: { credential_stores: { ...credential_stores, allow_loopback: false } },
  });
  const { call: repair, url: own } = strict;
  const org = await repair('POST', 'scopes', { scope_id: 'global', name: 'org' });
  const project = await repair('POST', 'scopes', { scope_id: org.textAt('id'), name: 'project' });
  const heard = vault.requests.length;
  const { port } = new URL(vault.url);
  const inwards = [vault.url, `http://localhost:${port}`, `http://[::ffff:127.0.0.1]:${port}`, own];
  for (const address of [...inwards, 'http://169.254.169.254', 'http://[fd00:ec2::254]']) {
    const answer = await repair('POST', 'credential-stores', {
      scope_id: project.textAt('id'),
      type: 'vault',
      attributes: { address, token: 'good' },
    });
    assert.match(faults(answer)['attributes.address'] ?? '', /^The address is /, address);
  }
  assert.equal(vault.requests.length, heard);
});

for (const address of [
  'http://user:secret@vault.test',
  'http://vault.test/?a=b',
  'http://vault.test/#a',
  'ftp://vault.test',
  'file:///etc/passwd',
  'gopher://vault.test',
  'unix:/run/vault.sock',
  'vault.test:8200',
  'http://',
]) {
  test(`${address} is no address of a server`, async () => {
    const answer = await ask('POST', 'credential-stores', vaultStore({ address }));
    assert.match(faults(answer)['attributes.address'] ?? '', /must be an http or https URL/);
  });
}
