// Tokens, secret IDs and passwords that are sent where something else belongs, and what records say then.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { CONNECTION_DEFAULTS } from '../../src/config/connections.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { writeRecords } from '../support/threads.ts';

const connections = { ...CONNECTION_DEFAULTS, trusted_proxies: ['127.0.0.1'] };
let now = Date.now();
const { client, admin_token } = await startBroker(
  { after },
  { config: { connections }, now: () => now },
);
const { call, running } = client;

/** Of unauthenticated requests from one place, and in one second, only a few have records of their own. */
let requests = 0;
const unauthenticated = () => {
  now += 1_000;
  return { token: '', headers: { 'x-forwarded-for': `198.51.100.${++requests}` } };
};
const isPublic = (path: string): boolean => /^auth\/(people|machines)\/login/.test(path);
const ask = ([method, path, body]: Request) =>
  call(method, path, body, isPublic(path) ? unauthenticated() : {});

await call('POST', 'sys/auth/people', { type: 'userpass' });
await call('POST', 'sys/auth/machines', { type: 'approle' });
await call('POST', 'auth/people/users/ann', { password: 'correct horse' });
await call('POST', 'auth/machines/role/web', {});

const newToken = async (body: object): Promise<string> =>
  (await call('POST', 'auth/token/create', body)).textAt('auth.client_token');
const wrapped = await call('GET', 'sys/mounts', undefined, {
  headers: { 'x-vault-wrap-ttl': '60' },
});
const TOKENS: [kind: string, token: string][] = [
  ['a service token', await newToken({ policies: ['default'] })],
  ['a batch token', await newToken({ policies: ['default'], type: 'batch' })],
  ['a wrapping token', wrapped.textAt('wrap_info.token')],
  ['a token of the broker', admin_token],
];

async function recordsSince(seq: number): Promise<{ seq: number; text: string }[]> {
  // What is written now comes after all that waited.
  await writeRecords(running);
  const rows = await listRecordsAfter(running.app.db, { node: 'local', seq, limit: 10_000 });
  return rows.map((row) => ({ seq: row.seq, text: row.record }));
}

/** The records that some requests leave, as one text. */
async function recordsOf(ask: () => Promise<unknown>): Promise<string> {
  const before = (await recordsSince(0)).at(-1)?.seq ?? 0;
  await ask();
  return (await recordsSince(before)).map(({ text }) => text).join('\n');
}

const hashOf = (text: string): string =>
  `hmac-sha256:${running.app.barrier.hmac('token', `token:${text}`).toString('hex')}`;

type Request = [method: string, path: string, body?: object];

/** A token in the place of whatever else. */
const PLACES: ((token: string) => Request)[] = [
  (token) => ['POST', 'auth/token/lookup-accessor', { accessor: token }],
  (token) => ['POST', 'auth/token/revoke-accessor', { accessor: token }],
  (token) => ['POST', 'auth/token/renew-accessor', { accessor: token }],
  (token) => ['POST', 'sys/capabilities-accessor', { accessor: token, paths: ['x'] }],
  (token) => ['POST', 'sys/leases/revoke', { lease_id: token }],
  (token) => ['POST', 'sys/leases/renew', { lease_id: token }],
  (token) => ['POST', `sys/leases/revoke/${token}`],
  (token) => ['POST', `sys/leases/renew/${token}`],
  (token) => ['POST', `sys/leases/revoke-prefix/${token}`],
  (token) => ['POST', 'auth/token/create', { meta: { k: token }, policies: ['default'] }],
  (token) => ['POST', 'auth/token/create', { policies: ['default', token] }],
  (token) => ['POST', 'auth/token/create', { display_name: token, policies: ['default'] }],
  (token) => ['POST', `auth/token/create/${token}`],
  (token) => ['POST', 'demo/revoke', { serial_number: token }],
  (token) => ['POST', 'sys/remount', { from: token, to: 'elsewhere' }],
  (token) => ['GET', `identity/entity/id/${token}`],
  (token) => ['POST', 'identity/entity', { name: token, metadata: { k: token } }],
  (token) => ['GET', `auth/token/roles/${token}`],
  (token) => ['GET', `sys/policies/acl/${token}`],
  (token) => ['POST', `demo/issue/${token}`, { common_name: token }],
  (token) => ['POST', 'demo/roles/web', { allowed_domains: [token, `a.${token}`] }],
  (token) => ['GET', `nowhere/${token}`],
  (token) => ['DELETE', `auth-tokens/${token}`],
  (token) => ['GET', `users/${token}`],
  (token) => ['POST', `targets/${token}:authorize-session`, {}],
  (token) => ['POST', 'users', { scope_id: 'global', name: token, description: token }],
  (token) => ['POST', 'roles/r_1234567890:add-principals', { version: 1, principal_ids: [token] }],
  (token) => ['POST', 'auth/machines/login', { role_id: token, secret_id: 'x' }],
  (token) => ['POST', `auth/people/login/${token}`, { password: 'x' }],
];

for (const [kind, token] of TOKENS) {
  test(`${kind} in the place of something else is in no record`, async () => {
    assert.ok(token.length > 20, token);
    for (const place of PLACES) {
      const request = place(token);
      const records = await recordsOf(() => ask(request));
      assert.notEqual(records, '', `${request.slice(0, 2)} has a record`);
      const [secret = ''] = /(?<=_s1|^hv[sb]\.).+/.exec(token) ?? [];
      assert.ok(secret !== '' && !records.includes(secret), `${request.slice(0, 2)}: ${records}`);
    }
  });
}

test('whoever has a token finds the records that it was sent with in the place of something else', async () => {
  const [[, token = ''] = []] = TOKENS;
  const records = await recordsOf(() =>
    call('POST', 'auth/token/lookup-accessor', { accessor: token }),
  );
  assert.ok(records.includes(`"accessor":"${hashOf(token)}"`), records);
});

/** Log-ins and look-ups; `secret` is not to be told, `name` is. */
const MIX_UPS: [
  why: string,
  requestFor: (at: { role_id: string; secret_id: string; accessor: string }) => Request,
  told: (at: { role_id: string; secret_id: string; accessor: string }) => [RegExp, string],
][] = [
  [
    'a secret ID in the place of a role ID',
    (at) => ['POST', 'auth/machines/login', { role_id: at.secret_id, secret_id: at.role_id }],
    (at) => [new RegExp(at.secret_id), `"role_id":"${hashOf(at.secret_id)}"`],
  ],
  [
    'a secret ID in the place of a role ID, and nothing in its own',
    (at) => ['POST', 'auth/machines/login', { role_id: at.secret_id }],
    (at) => [new RegExp(at.secret_id), `"role_id":"${hashOf(at.secret_id)}"`],
  ],
  [
    'a role ID with a wrong secret ID, told as it is',
    (at) => ['POST', 'auth/machines/login', { role_id: at.role_id, secret_id: 'wrong' }],
    (at) => [new RegExp(hashOf(at.role_id)), `"role_id":"${at.role_id}"`],
  ],
  [
    'a role ID that lets in, told as it is',
    (at) => ['POST', 'auth/machines/login', { role_id: at.role_id, secret_id: at.secret_id }],
    (at) => [new RegExp(hashOf(at.role_id)), `"role_id":"${at.role_id}"`],
  ],
  [
    'a secret ID in the place of its accessor',
    (at) => [
      'POST',
      'auth/machines/role/web/secret-id-accessor/lookup',
      { secret_id_accessor: at.secret_id },
    ],
    (at) => [new RegExp(at.secret_id), `"secret_id_accessor":"${hashOf(at.secret_id)}"`],
  ],
  [
    'a secret ID in the place of its accessor, to be destroyed',
    (at) => [
      'POST',
      'auth/machines/role/web/secret-id-accessor/destroy',
      { secret_id_accessor: at.secret_id },
    ],
    (at) => [new RegExp(at.secret_id), `"secret_id_accessor":"${hashOf(at.secret_id)}"`],
  ],
  [
    'an accessor, told as it is',
    (at) => [
      'POST',
      'auth/machines/role/web/secret-id-accessor/lookup',
      { secret_id_accessor: at.accessor },
    ],
    (at) => [new RegExp(hashOf(at.accessor)), `"secret_id_accessor":"${at.accessor}"`],
  ],
  [
    'a password in the place of a name',
    () => ['POST', 'auth/people/login/Tr0ub4dor-3', { password: 'ann' }],
    () => [/Tr0ub4dor/i, `"path":"auth/people/login/${hashOf('Tr0ub4dor-3')}"`],
  ],
  [
    'a password in the place of a name, and none in its own',
    () => ['POST', 'auth/people/login/Tr0ub4dor-3', {}],
    () => [/Tr0ub4dor/i, `"path":"auth/people/login/${hashOf('Tr0ub4dor-3')}"`],
  ],
  [
    'a password in the place of a name, and a list in its own',
    () => ['POST', 'auth/people/login/Tr0ub4dor-3', { password: ['x'] }],
    () => [/Tr0ub4dor/i, `"path":"auth/people/login/${hashOf('Tr0ub4dor-3')}"`],
  ],
  [
    'a password in the place of a name, by a method that log-ins have not',
    () => ['GET', 'auth/people/login/Tr0ub4dor-3'],
    () => [/Tr0ub4dor/i, `"path":"auth/people/login/${hashOf('Tr0ub4dor-3')}"`],
  ],
  [
    'a name with a wrong password, told as it is',
    () => ['POST', 'auth/people/login/ann', { password: 'wrong' }],
    () => [new RegExp(hashOf('ann')), '"path":"auth/people/login/ann"'],
  ],
  [
    'a name with the right one, told as it is',
    () => ['POST', 'auth/people/login/ann', { password: 'correct horse' }],
    () => [new RegExp(hashOf('ann')), '"path":"auth/people/login/ann"'],
  ],
];

for (const [why, requestFor, told] of MIX_UPS) {
  test(`records of log-ins and look-ups: ${why}`, async () => {
    const made = await call('POST', 'auth/machines/role/web/secret-id', {});
    const at = {
      role_id: (await call('GET', 'auth/machines/role/web/role-id')).textAt('data.role_id'),
      secret_id: made.textAt('data.secret_id'),
      accessor: made.textAt('data.secret_id_accessor'),
    };
    const records = await recordsOf(() => ask(requestFor(at)));
    const [untold, stands] = told(at);
    assert.doesNotMatch(records, untold);
    assert.ok(records.includes(stands), records);
  });
}

const PASSWORD = 'Tr0ub4dor-4711';
type Sent = [
  method: string,
  path: string,
  body?: object | undefined,
  headers?: Record<string, string>,
];

/** Where nothing of the kind is expected; each is refused or without effect. */
const ANYWHERE: [where: string, request: Sent][] = [
  ['a path that leads nowhere', ['GET', `nowhere/${PASSWORD}`]],
  ['a path that leads nowhere in a mount', ['GET', `demo/${PASSWORD}`]],
  ['a path that leads nowhere in a log-in', ['POST', `auth/people/log-in/ann/${PASSWORD}`, {}]],
  ['a path that is nothing of the system', ['POST', `sys/${PASSWORD}/x`, {}]],
  ['a path of another method', ['POST', `identity/entity/id/x/${PASSWORD}`, {}]],
  ['a query for lists', ['GET', `sys/mounts?list=${PASSWORD}`]],
  ['a query', ['GET', `sys/mounts?password=${PASSWORD}&${PASSWORD}=`]],
  ['a namespace', ['GET', 'sys/mounts', undefined, { 'x-vault-namespace': PASSWORD }]],
  ['a time of wrapping', ['GET', 'sys/mounts', undefined, { 'x-vault-wrap-ttl': PASSWORD }]],
  ['a form of wrapping', ['GET', 'sys/mounts', undefined, { 'x-vault-wrap-format': PASSWORD }]],
  ['a header of no meaning', ['GET', 'sys/mounts', undefined, { 'x-password': PASSWORD }]],
  ['a correlation', ['GET', 'users', undefined, { 'x-correlation-id': PASSWORD }]],
  ['a wrapping token', ['POST', 'sys/wrapping/unwrap', { token: PASSWORD }]],
  ['a share', ['POST', 'sys/unseal', { key: PASSWORD }]],
  ['a share of a root token', ['POST', 'sys/generate-root/update', { key: PASSWORD, nonce: 'x' }]],
  ['a share of a new key', ['POST', 'sys/rekey/update', { key: PASSWORD, nonce: 'x' }]],
  ['a request to sign', ['POST', 'demo/sign/web', { csr: PASSWORD }]],
  ['a bundle', ['POST', 'demo/config/ca', { pem_bundle: PASSWORD }]],
  [
    'a chosen secret ID',
    ['POST', 'auth/machines/role/web/custom-secret-id', { secret_id: [PASSWORD] }],
  ],
  ['a secret ID', ['POST', 'auth/machines/login', { role_id: 'x', secret_id: PASSWORD }]],
  ["a user's password", ['POST', 'auth/people/users/ann', { password: { [PASSWORD]: PASSWORD } }]],
  ["a token's text", ['POST', 'auth/token/create', { id: [PASSWORD] }]],
  ['a token to look up', ['POST', 'auth/token/lookup', { token: PASSWORD }]],
  [
    'a log-in of the broker',
    ['POST', 'auth-methods/ampw_1234567890:authenticate', { attributes: { password: PASSWORD } }],
  ],
  [
    "a store's token",
    [
      'POST',
      'credential-stores',
      { type: 'vault', scope_id: 'x', attributes: { token: PASSWORD } },
    ],
  ],
];

test('a password is in no record, in whatever place that is none of its own or that is', async () => {
  const who = { root: {}, 'somebody of the broker': { authorization: `Bearer ${admin_token}` } };
  for (const [where, [method, path, body, headers]] of ANYWHERE) {
    for (const [name, credentials] of Object.entries(who)) {
      const asked = { headers: { ...headers, ...credentials } };
      const as = name === 'root' ? asked : { ...asked, token: '' };
      const records = await recordsOf(() => call(method, path, body, as));
      assert.doesNotMatch(records, new RegExp(PASSWORD), `${where} by ${name}`);
    }
    const { token, headers: place } = unauthenticated();
    const sent = { token, headers: { ...headers, ...place } };
    const records = await recordsOf(() => call(method, path, body, sent));
    assert.doesNotMatch(records, new RegExp(PASSWORD), `${where} by nobody`);
  }
});

test('of a path that leads nowhere its refusal is recorded without it', async () => {
  const records = await recordsOf(() => call('GET', 'nowhere/else'));
  assert.match(records, /no handler for route \\"…\\"/);
});

/** Endpoints whose refusals repeat the beginning of what is wrong. */
const REPEATING: ((text: string) => Request)[] = [
  (text) => ['POST', 'demo/issue/web', { common_name: 'a.example', alt_names: `${text} !` }],
  (text) => ['POST', 'demo/issue/web', { common_name: 'a.example', uri_sans: text }],
  (text) => ['POST', 'demo/roles/web', { ext_key_usage_oids: text }],
  (text) => ['POST', 'demo/revoke', { serial_number: text }],
  (text) => ['PUT', 'sys/policies/acl/x', { policy: `"${text}" {}` }],
  (text) => ['GET', `users?scope_id=global&filter=${encodeURIComponent(`"${text}" == `)}`],
];

test('no part of a token is in the record of a refusal that repeats the beginning of a text', async () => {
  await call('POST', 'demo/roles/web', { allow_any_name: true });
  for (const [kind, token] of TOKENS) {
    const begins = /^at_\w+_s1....|^hv[sb]\...../.exec(token)?.[0] ?? '';
    const secret = begins.slice(-4);
    assert.equal(secret.length, 4, kind);
    for (const request of REPEATING) {
      for (const most of [64, 100, 128, 256]) {
        for (const room of [1, 6, 12, 20]) {
          const before = '-'.repeat(Math.max(0, most - begins.length - room));
          const asked = request(before + token);
          const records = await recordsOf(() => ask(asked));
          assert.ok(!records.includes(begins), `${asked.slice(0, 2)}: ${records}`);
        }
      }
    }
  }
});

test('a token of another server is not in the words of a refusal, whatever comes behind it', async () => {
  for (const [nth, form] of ['s', 'b', 'r'].entries()) {
    const token = `${form}.${'Qz7'.repeat(8)}${nth}`;
    for (const [path, body] of [
      ['sys/mounts/x', { type: token }],
      ['sys/auth/x', { type: token }],
      ['auth/token/create', { type: token }],
      ['demo/roles/web', { key_type: token }],
    ] as const) {
      const records = await recordsOf(() => call('POST', path, body));
      assert.ok(records.includes(path), path);
      assert.ok(!records.includes(token), `${path}: ${records}`);
    }
  }
});
