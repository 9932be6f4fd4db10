// What the records of changes say was changed, and what they leave out.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { startBroker } from '../support/seeded-broker.ts';
import { writeRecords } from '../support/threads.ts';

const { client, make, project, auth_method } = await startBroker({ after });
const { call, running } = client;

const SECRET = 'correct-horse-battery-staple';

async function records(): Promise<string[]> {
  await writeRecords(running);
  const rows = await listRecordsAfter(running.app.db, { node: 'local', seq: 0, limit: 10_000 });
  return rows.map(({ record }) => record);
}

/** What the last record has of its request. */
async function lastData(): Promise<unknown> {
  const last = JSON.parse((await records()).at(-1) ?? '{}');
  return last.request?.data;
}

type Ask = [method: string, path: string, body: object];

const target_id = await make('targets', {
  scope_id: project,
  type: 'tcp',
  name: 'ssh',
  attributes: { default_port: 22 },
});
const alias_id = await make('aliases', {
  scope_id: 'global',
  type: 'target',
  value: 'one.example',
});
const store_id = await make('credential-stores', { scope_id: project, type: 'static' });

const shown: [what: string, ask: Ask, data: Record<string, unknown>][] = [
  [
    'where a target leads now',
    ['PATCH', `targets/${target_id}`, { version: 1, address: '192.0.2.66' }],
    { version: 1, address: '192.0.2.66', update_mask: ['address'] },
  ],
  [
    'that a field was emptied',
    ['PATCH', `targets/${target_id}`, { version: 2, address: null, description: null }],
    { version: 2, update_mask: ['address', 'description'] },
  ],
  [
    'fields of a subtype',
    ['PATCH', `targets/${target_id}`, { version: 3, attributes: { default_port: 23 } }],
    {
      version: 3,
      attributes: { default_port: 23 },
      update_mask: ['attributes.default_port'],
    },
  ],
  [
    'where an alias leads',
    ['PATCH', `aliases/${alias_id}`, { version: 1, destination_id: target_id }],
    { version: 1, destination_id: target_id, update_mask: ['destination_id'] },
  ],
  [
    'a log-in name, and no password',
    [
      'POST',
      'accounts',
      {
        auth_method_id: auth_method,
        type: 'password',
        attributes: { login_name: 'newcomer', password: SECRET },
      },
    ],
    {
      auth_method_id: auth_method,
      type: 'password',
      attributes: { login_name: 'newcomer' },
      update_mask: undefined,
    },
  ],
  [
    'whose credential, and not what it is',
    [
      'POST',
      'credentials',
      {
        credential_store_id: store_id,
        type: 'username_password',
        attributes: { username: 'ann', password: SECRET },
      },
    ],
    { credential_store_id: store_id, type: 'username_password', attributes: { username: 'ann' } },
  ],
  [
    'which roles a scope is made without',
    ['POST', 'scopes?skip_admin_role_creation=true', { scope_id: 'global', type: 'org' }],
    { scope_id: 'global', type: 'org', skip_admin_role_creation: 'true' },
  ],
  [
    'the settings of a new mount, and of them no field that there is not',
    [
      'POST',
      'sys/mounts/one',
      { type: 'pki', config: { max_lease_ttl: '876000h', mystery: SECRET }, mystery: SECRET },
    ],
    { path: 'one', type: 'pki', config: { max_lease_ttl: '876000h' } },
  ],
  [
    'an old name of a field',
    ['POST', 'sys/mounts/two', { plugin_name: 'pki' }],
    { path: 'two', plugin_name: 'pki' },
  ],
  [
    'how a mount is tuned',
    ['POST', 'sys/auth/token/tune', { max_lease_ttl: '87600h' }],
    { path: 'token/tune', max_lease_ttl: '87600h' },
  ],
];

for (const [what, [method, path, body], data] of shown) {
  test(`a record shows ${what}`, async () => {
    const answer = await call(method, path, body);
    assert.ok(answer.status < 300, answer.text);
    const recorded = await lastData();
    const { update_mask, ...rest } = data;
    const expected = update_mask === undefined ? rest : { ...rest, update_mask };
    assert.deepEqual(recorded, expected);
  });
}

const logIns: [whose: string, login_name: string, told: boolean][] = [
  ['somebody is guessing at', 'admin', true],
  ['nobody has, by its hash: it may be a password', SECRET, false],
];
for (const [whose, login_name, told] of logIns) {
  test(`a record of a failed log-in has the name that ${whose}`, async () => {
    const path = `auth-methods/${auth_method}:authenticate`;
    const attributes = { login_name, password: `${SECRET}!` };
    const answer = await call('POST', path, { command: 'login', attributes }, { token: '' });
    assert.equal(answer.status, 401, answer.text);
    const { response } = JSON.parse((await records()).at(-1) ?? '{}');
    const hash = running.app.barrier.hmac('token', `token:${login_name}`).toString('hex');
    assert.equal(response.login_name, told ? login_name : `hmac-sha256:${hash}`);
  });
}

test('what is refused for a name that there is not is recorded without it', async () => {
  const answer = await call('PATCH', `targets/${target_id}?update_mask=${SECRET}`, {
    version: 4,
    name: 'x',
  });
  assert.equal(answer.status, 400, answer.text);
});

test('none of these records has the secret that was sent', async () => {
  assert.ok((await records()).length > shown.length);
  for (const record of await records()) assert.ok(!record.includes(SECRET), record);
});
