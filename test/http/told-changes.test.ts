// Nobody hides what they change behind what a record leaves out as a secret.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { type Client, startTestServer } from '../support/server.ts';

async function recordsOf({ running: { app } }: Client): Promise<string[]> {
  await app.audit.close();
  const rows = await listRecordsAfter(app.db, { node: 'local', seq: 0, limit: 1000 });
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
