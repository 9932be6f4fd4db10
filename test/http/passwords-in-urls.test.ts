// Addresses and URLs of the configuration say where something is. What is in them to be let in by is
// refused, and stands in no answer and no record.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { PROJECT, startBroker } from '../support/seeded-broker.ts';

const { client, admin, make } = await startBroker({ after });
const { call, running } = client;

type Request = [method: string, path: string, body: object];

await call('POST', 'sys/mounts/ca', { type: 'pki' });
await call('POST', 'ca/root/generate/internal', { common_name: 'x', key_type: 'ec', ttl: '24h' });
const catalog = await make('host-catalogs', { scope_id: PROJECT, type: 'static' });

const socket = (options: object): Request => [
  'POST',
  'sys/audit/x',
  { type: 'socket', options: { socket_type: 'tcp', ...options } },
];
const store = (address: string): Request => [
  'POST',
  'credential-stores',
  { scope_id: PROJECT, type: 'vault', attributes: { address, token: 'x' } },
];
const target = (address: string): Request => [
  'POST',
  'targets',
  { scope_id: PROJECT, type: 'tcp', name: 'x', address, attributes: { default_port: 22 } },
];
const host = (address: string): Request => [
  'POST',
  'hosts',
  { host_catalog_id: catalog, type: 'static', attributes: { address } },
];

/** Where something else would be let in by what is sent. */
const REFUSED: Request[] = [
  socket({ address: 'ann:hunter2@127.0.0.1:1' }),
  socket({ address: 'hunter2@127.0.0.1:1' }),
  socket({ address: 'tcp://ann:hunter2@127.0.0.1:1' }),
  socket({ address: '127.0.0.1:1?token=hunter2' }),
  socket({ address: 'ann:hunter2@127.0.0.1:1', socket_type: 'unix' }),
  socket({ addresss: 'ann:hunter2@127.0.0.1:1' }),
  ['POST', 'sys/audit/x', { type: 'file', options: { file_path: 'https://ann:hunter2@host' } }],
  store('http://ann:hunter2@127.0.0.1:1'),
  store('http://hunter2@127.0.0.1:1'),
  store('http://127.0.0.1:1/?token=hunter2'),
  store('http://127.0.0.1:1/#hunter2'),
  store('ann:hunter2@127.0.0.1'),
  target('ann:hunter2@127.0.0.1'),
  target('ssh://ann:hunter2@127.0.0.1'),
  host('ann:hunter2@127.0.0.1'),
  ['POST', 'ca/config/urls', { issuing_certificates: 'http://ann:hunter2@host.test/ca' }],
  ['POST', 'ca/config/urls', { ocsp_servers: ['http://hunter2@host.test/ocsp'] }],
  ['PATCH', 'ca/issuer/default', { crl_distribution_points: ['http://a:hunter2@host.test/crl'] }],
  [
    'POST',
    'ca/config/urls',
    { enable_templating: true, issuing_certificates: 'http://a:hunter2@host.test/{{issuer_id}}' },
  ],
];

async function recordsSince(seq: number): Promise<{ seq: number; record: string }[]> {
  // What is written now comes after all that waited.
  await running.app.audit.close();
  return listRecordsAfter(running.app.db, { node: 'local', seq, limit: 10_000 });
}

for (const [method, path, body] of REFUSED) {
  test(`refused, and told nowhere: ${method} ${path} ${JSON.stringify(body)}`, async () => {
    const before = (await recordsSince(0)).at(-1)?.seq ?? 0;
    const isBroker = /^(credential-stores|targets|hosts)/.test(path);
    const reply = isBroker ? await admin(method, path, body) : await call(method, path, body);
    assert.equal(reply.status, 400, reply.text);
    assert.doesNotMatch(reply.text, /hunter2/);
    const records = (await recordsSince(before)).map(({ record }) => record).join('\n');
    assert.notEqual(records, '');
    assert.doesNotMatch(records, /hunter2/);
  });
}

test('addresses without are taken, and told', async () => {
  const before = (await recordsSince(0)).at(-1)?.seq ?? 0;
  const taken: Request[] = [
    ['POST', 'ca/config/urls', { issuing_certificates: 'http://host.test:8200/ca/a@b' }],
    socket({ address: '127.0.0.1:9' }),
  ];
  for (const request of taken) {
    const reply = await call(...request);
    assert.ok(reply.status < 300, reply.text);
  }
  await call('DELETE', 'sys/audit/x');
  const records = (await recordsSince(before)).map(({ record }) => record).join('\n');
  assert.match(records, /"address":"127\.0\.0\.1:9"/);
  assert.match(records, /http:\/\/host\.test:8200\/ca\/a@b/);
});
