import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import type { Resource } from '../../src/broker/resource/resource.ts';
import { insertResource } from '../../src/broker/resource/store.ts';
import { brokerRoutes } from '../../src/broker/routes.ts';
import { formatWorkerToken } from '../../src/broker/workers/proof.ts';
import {
  makeRecordedTarget,
  startRecordedSession,
  tempFolder,
} from '../support/recorded-sessions.ts';
import { makeResource } from '../support/resources.ts';
import { AUTH_METHOD, type Call, startBroker, tokenIdOf } from '../support/seeded-broker.ts';

// Every endpoint, asked by everybody there can be. Nothing here knows how permission is decided:
// what is expected was written down by hand, and an endpoint without a row fails.

const clock = { ahead: 0 };
const options = { now: () => Date.now() + clock.ahead };
const first = await startBroker({ after }, options);
const { client, nobody, org, project } = first;
const expired = await first.logIn('user');
clock.ahead += 25 * 3600 * 1000;
const admin = first.as(await first.logIn('admin'));
const broker = { ...first, admin };

let made = 0;
async function make(plural: string, body: object): Promise<string> {
  const answer = await admin('POST', plural, body);
  assert.equal(answer.status, 200, `${plural}: ${answer.text}`);
  return answer.textAt('id');
}
const newName = (): string => `thing-${made++}`;

/** Somebody with a role in `scope_id`. */
async function person(grants: string[], where: { scope_id: string; grant_scope_ids: string[] }) {
  const login_name = newName();
  const attributes = { login_name, password: 'password' };
  await make('accounts', { auth_method_id: AUTH_METHOD, attributes });
  const token = await broker.logIn(login_name);
  const own = await broker.as(token)('GET', `auth-tokens/${tokenIdOf(token)}`);
  const role = await make('roles', { scope_id: where.scope_id });
  const steps: [string, object][] = [
    ['set-grants', { grant_strings: grants }],
    ['set-grant-scopes', { grant_scope_ids: where.grant_scope_ids }],
    ['set-principals', { principal_ids: [own.textAt('user_id')] }],
  ];
  for (const [at, [verb, body]] of steps.entries()) {
    const done = await admin('POST', `roles/${role}:${verb}`, { version: at + 1, ...body });
    assert.equal(done.status, 200, done.text);
  }
  return { call: broker.as(token), token };
}

const otherOrg = await make('scopes', { scope_id: 'global', type: 'org', name: 'elsewhere' });
const elsewhere = await person(['ids=*;type=*;actions=*'], {
  scope_id: otherOrg,
  grant_scope_ids: ['this', 'children'],
});
const reader = await person(['ids=*;type=*;actions=list,read,no-op'], {
  scope_id: 'global',
  grant_scope_ids: ['this', 'descendants'],
});
const revoked = await broker.logIn('user');
assert.equal((await admin('DELETE', `auth-tokens/${tokenIdOf(revoked)}`)).status, 204);

const newScope = () => make('scopes', { scope_id: org, type: 'project', name: newName() });
const newAuthMethod = () => make('auth-methods', { scope_id: org, type: 'password' });
const newAccount = (auth_method_id = AUTH_METHOD) =>
  make('accounts', { auth_method_id, attributes: { login_name: newName(), password: 'password' } });
const newUser = () => make('users', { scope_id: org });
const newGroup = () => make('groups', { scope_id: org });
const newRole = () => make('roles', { scope_id: org });
const newCatalog = () => make('host-catalogs', { scope_id: project, type: 'static' });
const newSet = (host_catalog_id: string) => make('host-sets', { host_catalog_id });
const newHost = (host_catalog_id: string) =>
  make('hosts', { host_catalog_id, attributes: { address: '127.0.0.1' } });
const newStore = () => make('credential-stores', { scope_id: project, type: 'static' });
const newCredential = async (credential_store_id?: string) =>
  make('credentials', {
    credential_store_id: credential_store_id ?? (await newStore()),
    type: 'username_password',
    attributes: { username: 'u', password: 'p' },
  });
const newTarget = (more: object = {}) =>
  make('targets', {
    scope_id: project,
    type: 'tcp',
    name: newName(),
    attributes: { default_port: 22 },
    ...more,
  });
const newAlias = () =>
  make('aliases', { scope_id: 'global', type: 'target', value: `${newName()}.example` });
const newWorker = () =>
  make('workers:create:controller-led', { scope_id: 'global', name: newName() });

async function newSession(): Promise<string> {
  const target = await newTarget({ address: '127.0.0.1' });
  const answer = await admin('POST', `targets/${target}:authorize-session`, {});
  assert.equal(answer.status, 200, answer.text);
  return answer.textAt('session_id');
}

const newWorkerToken = (): string =>
  formatWorkerToken({ public_key: randomBytes(32), secret: randomBytes(32) });
const newOrg = () => make('scopes', { scope_id: 'global', type: 'org', name: newName() });
const POLICY = {
  scope_id: 'global',
  type: 'storage',
  attributes: { delete_after: { days: 9, overridable: true } },
};
const newPolicy = () => make('policies', POLICY);
const newBucketBody = () => ({ scope_id: 'global', attributes: { path: tempFolder() } });
const newBucket = () => make('storage-buckets?plugin_name=local', newBucketBody());

/** One that has ended, of a session with one shell. */
async function record(): Promise<{ id: string; channel_id: string }> {
  const { app } = first.client.running;
  const place = { id: project, admin: { call: admin } };
  const target = await makeRecordedTarget(place, await newBucket());
  const session = await startRecordedSession(app, place, target);
  const connection = await session.connect();
  const shell = await connection.openChannel({ type: 'session', program: 'shell' });
  await shell.output(Buffer.from('hello'), 'stdout');
  await shell.close({ status: 0 });
  await connection.close({ reason: 'done' });
  await session.end();
  const id = session.recording_id;
  const read = await admin('GET', `session-recordings/${id}`);
  return { id, channel_id: read.textAt('connection_recordings.0.channel_recordings.0.id') };
}
const newRecording = async (): Promise<string> => (await record()).id;
const newRecordedChannel = async (): Promise<string> => (await record()).channel_id;
const onRecording = async (verb: string): Promise<Request> => ({
  path: `session-recordings/${await newRecording()}:${verb}`,
  body: {},
});
const attachment = async (scope: string): Promise<Request> => ({
  path: `scopes/${scope}:attach-storage-policy`,
  body: { version: 1, storage_policy_id: await newPolicy() },
});

interface Request {
  path: string;
  body?: object;
}

/** Well formed requests: by a path, and by what their bodies need. */
type Row = [
  /** Without a token, and with one that has run out or was taken away. */
  nobody: number,
  /** Who may do everything, in another org. */
  elsewhere: number,
  /** Who may read everything. */
  reader: number,
  admin: number,
  request: () => Promise<Request>,
];

const change = { version: 1, description: 'changed' };
const at = async (plural: string, id: Promise<string>, body?: object): Promise<Request> => ({
  path: `${plural}/${await id}`,
  ...(body ? { body } : {}),
});

/** The five common endpoints of a type whose items nobody may touch without a grant of their own. */
function standard(
  plural: string,
  type: string,
  list: string,
  make: () => Promise<string>,
  body: () => Promise<object> | object,
): Record<string, Row> {
  return {
    [`list-${plural}`]: [401, 403, 200, 200, async () => ({ path: `${plural}?${list}` })],
    [`create-${type}`]: [401, 403, 403, 200, async () => ({ path: plural, body: await body() })],
    [`read-${type}`]: [401, 403, 200, 200, () => at(plural, make())],
    [`update-${type}`]: [401, 403, 403, 200, () => at(plural, make(), change)],
    [`delete-${type}`]: [401, 403, 403, 204, () => at(plural, make())],
  };
}

/** A verb with a body that is taken; a removal is let in, and finds nothing to remove. */
function verb(
  plural: string,
  name: string,
  make: () => Promise<string>,
  body: (id: string) => Promise<object> | object,
  allowed = name.startsWith('remove-') && name !== 'remove-grant-scopes' ? 400 : 200,
): Row {
  return [
    401,
    403,
    403,
    allowed,
    async () => {
      const id = await make();
      return { path: `${plural}/${id}:${name}`, body: { version: 1, ...(await body(id)) } };
    },
  ];
}

const NOT_OFFERED: readonly string[] = [
  'unavailable-get-session-recordings-id-export',
  'unavailable-get-session-recordings-list-exports',
  'unavailable-post-scopes-id-set-alias-suffix',
  'unavailable-post-scopes-id-remove-alias-suffix',
  'unavailable-get-scopes-id-list-keys',
  'unavailable-post-scopes-rotate-keys',
  'unavailable-get-scopes-id-list-key-version-destruction-jobs',
  'unavailable-post-scopes-destroy-key-version',
];

const catalog = await newCatalog();
const store = await newStore();

// Stores and auth methods that need somebody else's server are put where they would be.
const put = async (...resources: Resource[]): Promise<void> => {
  await client.running.app.store.commit(resources.map(insertResource));
};
const VAULT = 'csvlt_matrix';
const OIDC = 'amoidc_matrix';
await put(
  makeResource(VAULT, { scope_id: project, body: { attributes: {} } }),
  makeResource(OIDC, { scope_id: 'global', body: {} }),
);
async function newLibrary(): Promise<string> {
  const id = `clvlt_${made++}`;
  const body = { credential_type: '', overrides: {}, attributes: { path: 'a' }, mount_id: '' };
  await put(makeResource(id, { scope_id: project, container_id: VAULT, body }));
  return id;
}
async function newManagedGroup(): Promise<string> {
  const id = `mgoidc_${made++}`;
  const body = { filter: '"/token/a" == "b"' };
  await put(makeResource(id, { scope_id: 'global', container_id: OIDC, body }));
  return id;
}

const inCatalog = `host_catalog_id=${catalog}`;
const inStore = `credential_store_id=${store}`;

const ROWS: Record<string, Row> = {
  // Everybody may look at scopes and at ways to log in.
  ...standard('scopes', 'scope', 'scope_id=global', newScope, () => ({
    scope_id: org,
    name: newName(),
  })),
  'list-scopes': [200, 200, 200, 200, async () => ({ path: 'scopes?scope_id=global' })],
  'read-scope': [401, 200, 200, 200, () => at('scopes', newScope())],
  ...standard('auth-methods', 'auth-method', 'scope_id=global', newAuthMethod, () => ({
    scope_id: org,
    type: 'password',
  })),
  'list-auth-methods': [200, 200, 200, 200, async () => ({ path: 'auth-methods?scope_id=global' })],
  'authenticate-auth-method': [
    200,
    200,
    200,
    200,
    async () => ({
      path: `auth-methods/${AUTH_METHOD}:authenticate`,
      body: { attributes: { login_name: 'admin', password: 'password' } },
    }),
  ],
  ...standard('accounts', 'account', `auth_method_id=${AUTH_METHOD}`, newAccount, () => ({
    auth_method_id: AUTH_METHOD,
    attributes: { login_name: newName() },
  })),
  'set-password-account': verb('accounts', 'set-password', newAccount, () => ({
    password: 'another one',
  })),
  'change-password-account': verb('accounts', 'change-password', newAccount, () => ({
    current_password: 'password',
    new_password: 'another one',
  })),
  // Everybody lists their own.
  'list-auth-tokens': [401, 200, 200, 200, async () => ({ path: 'auth-tokens?scope_id=global' })],
  'read-auth-token': [
    401,
    403,
    200,
    200,
    async () => ({ path: `auth-tokens/${tokenIdOf(await broker.logIn('user'))}` }),
  ],
  'delete-auth-token': [
    401,
    403,
    403,
    204,
    async () => ({ path: `auth-tokens/${tokenIdOf(await broker.logIn('user'))}` }),
  ],
  ...standard('users', 'user', `scope_id=${org}`, newUser, () => ({ scope_id: org })),
  'add-accounts-user': verb(
    'users',
    'add-accounts',
    () => make('users', { scope_id: 'global' }),
    async () => ({
      account_ids: [await newAccount()],
    }),
  ),
  'set-accounts-user': verb('users', 'set-accounts', newUser, () => ({ account_ids: [] })),
  'remove-accounts-user': verb('users', 'remove-accounts', newUser, () => ({
    account_ids: ['acctpw_none'],
  })),
  'list-resolvable-aliases-user': [
    401,
    403,
    403,
    200,
    async () => ({ path: `users/${await newUser()}:list-resolvable-aliases` }),
  ],
  ...standard('groups', 'group', `scope_id=${org}`, newGroup, () => ({ scope_id: org })),
  'add-members-group': verb('groups', 'add-members', newGroup, async () => ({
    member_ids: [await newUser()],
  })),
  'set-members-group': verb('groups', 'set-members', newGroup, () => ({ member_ids: [] })),
  'remove-members-group': verb('groups', 'remove-members', newGroup, () => ({
    member_ids: ['u_none'],
  })),
  ...standard('roles', 'role', `scope_id=${org}`, newRole, () => ({ scope_id: org })),
  'add-principals-role': verb('roles', 'add-principals', newRole, async () => ({
    principal_ids: [await newUser()],
  })),
  'set-principals-role': verb('roles', 'set-principals', newRole, () => ({ principal_ids: [] })),
  'remove-principals-role': verb('roles', 'remove-principals', newRole, () => ({
    principal_ids: ['u_none'],
  })),
  'add-grants-role': verb('roles', 'add-grants', newRole, () => ({
    grant_strings: ['ids=*;type=target;actions=read'],
  })),
  'set-grants-role': verb('roles', 'set-grants', newRole, () => ({ grant_strings: [] })),
  'remove-grants-role': verb('roles', 'remove-grants', newRole, () => ({
    grant_strings: ['ids=*;type=target;actions=read'],
  })),
  'add-grant-scopes-role': verb('roles', 'add-grant-scopes', newRole, () => ({
    grant_scope_ids: ['children'],
  })),
  'set-grant-scopes-role': verb('roles', 'set-grant-scopes', newRole, () => ({
    grant_scope_ids: [],
  })),
  'remove-grant-scopes-role': verb('roles', 'remove-grant-scopes', newRole, () => ({
    grant_scope_ids: ['this'],
  })),
  ...standard('host-catalogs', 'host-catalog', `scope_id=${project}`, newCatalog, () => ({
    scope_id: project,
    type: 'static',
  })),
  ...standard(
    'host-sets',
    'host-set',
    inCatalog,
    () => newSet(catalog),
    () => ({
      host_catalog_id: catalog,
    }),
  ),
  'add-hosts-host-set': verb(
    'host-sets',
    'add-hosts',
    () => newSet(catalog),
    async () => ({
      host_ids: [await newHost(catalog)],
    }),
  ),
  'set-hosts-host-set': verb(
    'host-sets',
    'set-hosts',
    () => newSet(catalog),
    () => ({ host_ids: [] }),
  ),
  'remove-hosts-host-set': verb(
    'host-sets',
    'remove-hosts',
    () => newSet(catalog),
    () => ({
      host_ids: ['hst_none'],
    }),
  ),
  ...standard(
    'hosts',
    'host',
    inCatalog,
    () => newHost(catalog),
    () => ({
      host_catalog_id: catalog,
      attributes: { address: '10.0.0.1' },
    }),
  ),
  ...standard('credential-stores', 'credential-store', `scope_id=${project}`, newStore, () => ({
    scope_id: project,
    type: 'static',
  })),
  ...standard(
    'credentials',
    'credential',
    inStore,
    () => newCredential(store),
    () => ({
      credential_store_id: store,
      type: 'username_password',
      attributes: { username: 'u', password: 'p' },
    }),
  ),
  ...standard(
    'credential-libraries',
    'credential-library',
    `credential_store_id=${VAULT}`,
    newLibrary,
    () => ({ credential_store_id: VAULT, type: 'vault-generic', attributes: { path: 'a' } }),
  ),
  ...standard('managed-groups', 'managed-group', `auth_method_id=${OIDC}`, newManagedGroup, () => ({
    auth_method_id: OIDC,
    attributes: { filter: '"/token/a" == "b"' },
  })),
  ...standard('targets', 'target', `scope_id=${project}`, newTarget, () => ({
    scope_id: project,
    type: 'tcp',
    name: newName(),
    attributes: { default_port: 22 },
  })),
  // Everybody who has logged in to a development server may look at targets and connect.
  'list-targets': [401, 200, 200, 200, async () => ({ path: `targets?scope_id=${project}` })],
  'read-target': [401, 200, 200, 200, () => at('targets', newTarget())],
  'add-host-sources-target': verb('targets', 'add-host-sources', newTarget, async () => ({
    host_source_ids: [await newSet(catalog)],
  })),
  'set-host-sources-target': verb('targets', 'set-host-sources', newTarget, () => ({
    host_source_ids: [],
  })),
  'remove-host-sources-target': verb('targets', 'remove-host-sources', newTarget, () => ({
    host_source_ids: ['hsst_none'],
  })),
  'add-credential-sources-target': verb(
    'targets',
    'add-credential-sources',
    newTarget,
    async () => ({
      brokered_credential_source_ids: [await newCredential()],
    }),
  ),
  'set-credential-sources-target': verb('targets', 'set-credential-sources', newTarget, () => ({})),
  'remove-credential-sources-target': verb(
    'targets',
    'remove-credential-sources',
    newTarget,
    () => ({
      brokered_credential_source_ids: ['credup_none'],
    }),
  ),
  'authorize-session-target': [
    401,
    200,
    200,
    200,
    async () => ({
      path: `targets/${await newTarget({ address: '127.0.0.1' })}:authorize-session`,
      body: {},
    }),
  ],
  'list-sessions': [401, 200, 200, 200, async () => ({ path: `sessions?scope_id=${project}` })],
  'read-session': [401, 403, 200, 200, () => at('sessions', newSession())],
  'cancel-session': verb('sessions', 'cancel', newSession, () => ({})),
  ...standard('aliases', 'alias', 'scope_id=global', newAlias, () => ({
    scope_id: 'global',
    type: 'target',
    value: `${newName()}.example`,
  })),
  'add-worker-tags-worker': verb('workers', 'add-worker-tags', newWorker, () => ({
    api_tags: { a: ['b'] },
  })),
  'set-worker-tags-worker': verb('workers', 'set-worker-tags', newWorker, () => ({
    api_tags: { a: ['b'] },
  })),
  'remove-worker-tags-worker': verb(
    'workers',
    'remove-worker-tags',
    newWorker,
    () => ({
      api_tags: { a: ['b'] },
    }),
    200,
  ),
  'create-worker-controller-led': [
    401,
    403,
    403,
    200,
    async () => ({ path: 'workers:create:controller-led', body: { scope_id: 'global' } }),
  ],
  'create-worker-worker-led': [
    401,
    403,
    403,
    200,
    async () => ({
      path: 'workers:create:worker-led',
      body: { scope_id: 'global', worker_generated_auth_token: newWorkerToken() },
    }),
  ],
  ...standard('policies', 'policy', 'scope_id=global', newPolicy, () => POLICY),
  ...standard('storage-buckets', 'storage-bucket', 'scope_id=global', newBucket, newBucketBody),
  'create-storage-bucket': [
    401,
    403,
    403,
    200,
    async () => ({ path: 'storage-buckets?plugin_name=local', body: newBucketBody() }),
  ],
  'list-session-recordings': [
    401,
    403,
    200,
    200,
    async () => ({ path: 'session-recordings?scope_id=global' }),
  ],
  'read-session-recording': [401, 403, 200, 200, () => at('session-recordings', newRecording())],
  'delete-session-recording': [401, 403, 403, 204, () => at('session-recordings', newRecording())],
  'download-session-recording': [
    401,
    403,
    403,
    200,
    async () => ({
      path: `session-recordings/${await newRecordedChannel()}:download?mime_type=application/x-asciicast`,
    }),
  ],
  'verify-session-recording': [401, 403, 403, 200, () => onRecording('verify')],
  'reapply-storage-policy-session-recording': [
    401,
    403,
    403,
    200,
    () => onRecording('reapply-storage-policy'),
  ],
  'attach-storage-policy-scope': [401, 403, 403, 200, async () => attachment(await newOrg())],
  'detach-storage-policy-scope': [
    401,
    403,
    403,
    200,
    async () => {
      const id = await newOrg();
      const { path, body } = await attachment(id);
      assert.equal((await admin('POST', path, body)).status, 200);
      return { path: `scopes/${id}:detach-storage-policy`, body: { version: 2 } };
    },
  ],
  'read-worker-certificate-authority': [
    401,
    403,
    403,
    200,
    async () => ({ path: 'workers:read-certificate-authority?scope_id=global' }),
  ],
  'reinitialize-worker-certificate-authority': [
    401,
    403,
    403,
    200,
    async () => ({
      path: 'workers:reinitialize-certificate-authority',
      body: { scope_id: 'global' },
    }),
  ],
  'list-monthly-active-users': [
    401,
    403,
    403,
    200,
    async () => ({ path: 'billing:monthly-active-users' }),
  ],
  'list-workers': [401, 403, 200, 200, async () => ({ path: 'workers?scope_id=global' })],
  'read-worker': [401, 403, 200, 200, () => at('workers', newWorker())],
  'update-worker': [401, 403, 403, 200, () => at('workers', newWorker(), change)],
  'delete-worker': [401, 403, 403, 204, () => at('workers', newWorker())],
};

const callers: [name: string, column: 0 | 1 | 2 | 3, call: Call][] = [
  ['nobody', 0, nobody],
  ['a token that has run out', 0, broker.as(expired)],
  ['a token that was taken away', 0, broker.as(revoked)],
  ['a token that never was', 0, broker.as('at_1234567890_s1madeup')],
  ['who may do everything elsewhere', 1, elsewhere.call],
  ['who may read', 2, reader.call],
  ['the administrator', 3, admin],
];

for (const route of brokerRoutes) {
  test(`${route.method} ${route.path}: ${route.id}`, async () => {
    if (NOT_OFFERED.includes(route.id)) {
      const path = route.path.slice('/v1/'.length).replace(/\{\w+\}/, 'p_1234567890');
      for (const [name, , call] of callers) {
        const answer = await call(route.method, path, route.method === 'GET' ? undefined : {});
        assert.equal(answer.status, 405, name);
      }
      return;
    }
    const row = ROWS[route.id];
    assert.ok(row, `no row says who may use ${route.id}`);
    const [, , , , request] = row;
    const { path, body } = await request();
    for (const [name, column, call] of callers) {
      const answer = await call(route.method, path, body);
      assert.equal(answer.status, row[column], `${name}: ${answer.text}`);
      if (answer.status === 401) assert.equal(answer.textAt('kind'), 'Unauthenticated');
      if (answer.status === 403) assert.equal(answer.textAt('kind'), 'PermissionDenied');
    }
  });
}

test('no row is for an endpoint that is gone', () => {
  const ids = new Set(brokerRoutes.map(({ id }) => id));
  for (const id of [...Object.keys(ROWS), ...NOT_OFFERED]) assert.ok(ids.has(id), id);
});

test('a refused change has changed nothing', async () => {
  const target = await newTarget();
  const before = await admin('GET', `targets/${target}`);
  for (const call of [nobody, elsewhere.call, reader.call]) {
    await call('PATCH', `targets/${target}`, change);
    await call('DELETE', `targets/${target}`);
    await call('POST', `targets/${target}:set-host-sources`, { version: 1, host_source_ids: [] });
  }
  assert.equal((await admin('GET', `targets/${target}`)).text, before.text);
});
