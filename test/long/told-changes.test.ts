// Nobody hides what they change behind what a record leaves out as a secret.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { type Client, startTestServer } from '../support/server.ts';
import { writeRecords } from '../support/threads.ts';

async function recordsOf({ running }: Client): Promise<string[]> {
  await writeRecords(running);
  const rows = await listRecordsAfter(running.app.db, { node: 'local', seq: 0, limit: 1000 });
  return rows.map(({ record }) => record);
}

/** Lines of a private key, with another text among them. */
const around = (name: string): string[] => [
  '-----BEGIN PRIVATE KEY-----',
  'A'.repeat(24),
  name,
  '-----END PRIVATE KEY-----',
];

const hidden: [what: string, method: string, path: string, body: object][] = [
  ['policies of a token', 'POST', 'auth/token/create', { policies: around('admin') }],
  ['policies in one text', 'POST', 'auth/token/create', { policies: around('admin').join() }],
  ['policies of a group', 'POST', 'identity/group', { name: 'ops', policies: around('admin') }],
  [
    'a policy',
    'PUT',
    'sys/policies/acl/quiet',
    { policy: `# ${around('').join('')}\npath "*" { capabilities = ["read"] }` },
  ],
  [
    'metadata',
    'POST',
    'identity/entity',
    { name: 'ann', metadata: { key: around('').join('\n') } },
  ],
  ['a path', 'POST', `identity/entity/name/${encodeURIComponent(around('').join(''))}`, {}],
];

test('a change with the words and letters of a private key where none is taken is refused', async (t) => {
  const client = await startTestServer(t);
  for (const [what, method, path, body] of hidden) {
    const { status, text } = await client.call(method, path, body);
    assert.equal(status, 400, `${what}: ${text}`);
    assert.match(text, /private key/, what);
  }
  assert.equal((await client.call('LIST', 'identity/group/name')).status, 404);
  assert.equal((await client.call('LIST', 'identity/entity/name')).status, 404);
  assert.equal((await client.call('GET', 'sys/policies/acl/quiet')).status, 404);
  for (const record of await recordsOf(client)) assert.doesNotMatch(record, /A{24}/);
});

/** Two of each, which differ only in what stands in no record. */
const ALIKE: readonly [one: string, other: string][] = [
  ['at_1234567890_s1adminadmin', 'at_1234567890_s1readerreader'],
  ['heartbeat_collectors_s1administrators', 'heartbeat_collectors_s1readonlyone'],
  [`hvs.${'a'.repeat(20)}`, `hvs.${'b'.repeat(20)}`],
];

const CHANGES: [what: string, change: (name: string) => [string, string, object?]][] = [
  ['a policy', (name) => ['PUT', `sys/policies/acl/${name}`, { policy: 'path "a" {}' }]],
  ["a token's policies", (name) => ['POST', 'auth/token/create', { policies: [name] }]],
  ["a token's metadata", (name) => ['POST', 'auth/token/create', { meta: { who: name } }]],
  [
    "names of a token's metadata",
    (name) => ['POST', 'auth/token/create', { meta: { [name]: '' } }],
  ],
  ['an entity', (name) => ['POST', 'identity/entity', { name }]],
  ['a user', (name) => ['POST', `auth/up/users/${name}`, { password: 'x', token_policies: name }]],
  ['a user who is removed', (name) => ['DELETE', `auth/up/users/${name}`]],
  ['domains of a role', (name) => ['POST', 'demo/roles/web', { allowed_domains: [`${name}.x`] }]],
  ['a group of the broker', (name) => ['POST', 'groups', { scope_id: 'global', name }]],
  ['its description', (name) => ['POST', 'groups', { scope_id: 'global', description: name }]],
];

test('no two changes have the same record where names look like tokens', async (t) => {
  const { client } = await startBroker(t);
  await client.call('POST', 'sys/auth/up', { type: 'userpass' });
  for (const [what, change] of CHANGES) {
    for (const pair of ALIKE) {
      const told: string[] = [];
      for (const name of pair) {
        const [method, path, body] = change(name);
        const { status, text } = await client.call(method, path, body);
        assert.ok(status < 300, `${what}: ${status} ${text}`);
        const { request } = JSON.parse((await recordsOf(client)).at(-1) ?? '');
        told.push(JSON.stringify([request.path, request.data]));
      }
      assert.notEqual(told[0], told[1], what);
    }
  }
});

const HASH = `hmac-sha256:${'0a'.repeat(32)}`;

test('a change with a hash as records have it is refused, and what has a name that is refused can be removed', async (t) => {
  const client = await startTestServer(t);
  const near = HASH.slice(0, -1);
  for (const [what, change] of CHANGES.slice(0, 5)) {
    for (const [name, isRefused] of [
      [HASH, true],
      [near, false],
    ] as const) {
      const { status, text } = await client.call(...change(name));
      assert.equal(status === 400, isRefused, `${what}: ${text}`);
    }
  }
  assert.equal((await client.call('POST', `identity/entity/name/${HASH}`, {})).status, 400);
  assert.equal((await client.call('POST', `identity/entity/name/x${near}`, {})).status, 200);
  for (const name of [HASH, encodeURIComponent(around('').join(''))]) {
    assert.equal((await client.call('DELETE', `identity/entity/name/${name}`)).status, 204);
  }
});

const told: [what: string, method: string, path: string, body: object, stands: string][] = [
  [
    'the words alone',
    'POST',
    'auth/token/create',
    { policies: ['-----begin private key-----', 'admin'] },
    'admin',
  ],
  [
    'a user in an address',
    'POST',
    'identity/entity',
    { name: 'ann', metadata: { address: 'boss@corp.example' } },
    'boss@corp.example',
  ],
  [
    'a user in a URL',
    'POST',
    'identity/entity',
    { name: 'bob', metadata: { at: 'https://boss@corp.example/x' } },
    'https://boss@corp.example/x',
  ],
  [
    'what looks like a password in a URL',
    'PUT',
    'sys/policies/acl/url',
    { policy: '# ssh://boss:x@corp.example\npath "a/*" { capabilities = ["read"] }' },
    'ssh://boss:x@corp.example',
  ],
];

test('the record of a change says all that was sent, also what a refused request would leave out', async (t) => {
  const client = await startTestServer(t);
  for (const [what, method, path, body, stands] of told) {
    const { status, text } = await client.call(method, path, body);
    assert.ok(status < 300, `${what}: ${status} ${text}`);
    const records = await recordsOf(client);
    assert.ok(
      records.some((record) => record.includes(stands)),
      what,
    );
  }
});

const unexpected: [what: string, more: object][] = [
  ['a list of attributes', { attributes: [] }],
  ['a text for attributes', { attributes: 'x' }],
  ['a list of arguments', { attributes: { authorize_session_arguments: [] } }],
  ['an object for a host', { attributes: { authorize_session_arguments: { host_id: {} } } }],
];

for (const [what, more] of unexpected) {
  test(`aliases are made with a target only where its record names them: ${what}`, async (t) => {
    const broker = await startBroker(t);
    const make = (name: string, with_aliases: object[]) =>
      broker.client.call('POST', 'targets', {
        scope_id: broker.project,
        type: 'tcp',
        name,
        address: '192.0.2.66',
        attributes: { default_port: 22 },
        with_aliases,
      });
    const odd = { value: 'odd.corp', scope_id: 'global', ...more };
    const refused = await make('odd', [{ value: 'payroll.corp', scope_id: 'global' }, odd]);
    assert.equal(refused.status, 400, refused.text);
    assert.equal((await broker.client.call('GET', 'targets/payroll.corp')).status, 404);
    const made = await make('even', [{ value: 'payroll.corp', scope_id: 'global' }]);
    assert.equal(made.status, 200, made.text);
    assert.ok((await recordsOf(broker.client)).some((record) => record.includes('payroll.corp')));
  });
}
