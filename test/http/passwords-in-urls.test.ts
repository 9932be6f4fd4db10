// Addresses and URLs of the configuration say where something is. What is in them to be let in by is
// refused, and stands in no answer and no record.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { listRecordsAfter } from '../../src/audit/store.ts';
import { PROJECT, startBroker } from '../support/seeded-broker.ts';
import { writeRecords } from '../support/threads.ts';

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

const FORMS = [
  'https:ann:hunter2@h.test/x',
  'https:/ann:hunter2@h.test/x',
  'https:\\\\ann:hunter2@h.test/x',
  'https:///ann:hunter2@h.test/x',
  '//ann:hunter2@h.test/x',
  'https://ann:hun hunter2@h.test/x',
  'https://ann:hun/hunter2@h.test/x',
  'https://ann:hun?hunter2@h.test',
  'https://ann:hun#hunter2@h.test',
  'https://ann:hun\thunter2@h.test',
  'https://ann:hun"hunter2@h.test',
  'https://ann:"hunter2@h.test',
  'https://ann:hun\\hunter2@h.test',
  'https://ann:hunter2%40h.test',
  'https://ann:hunter2\uff20h.test',
  'ldap:/ann:hunter2@h.test',
  'mailto:ann:hunter2@h.test',
  'ann:hunter2@h.test',
  'hunter2@h.test',
  ' https:ann:hunter2@h.test',
];
const badUrls = FORMS.flatMap((url): Request[] => [
  ['POST', 'ca/config/urls', { issuing_certificates: [url] }],
  ['PATCH', 'ca/issuer/default', { ocsp_servers: ['http://fine.test', url] }],
  ['POST', 'sys/audit/x', { type: 'file', options: { file_path: url } }],
  ['POST', 'sys/audit/x', { type: 'syslog', options: { facility: 'none', tag: url } }],
]);
const withCommas: Request[] = [
  ['POST', 'ca/config/urls', { issuing_certificates: 'https://ann:hun,hunter2@h.test' }],
  ['POST', 'ca/config/urls', { issuing_certificates: 'https://ann:hunter2,x@h.test' }],
  ['POST', 'ca/config/urls', { crl_distribution_points: 'https:ann:hunter2@h.test,http://x.test' }],
  ['POST', 'ca/issuer/default', { issuing_certificates: ['https:ann:hun,hunter2@h.test'] }],
  ['POST', 'ca/roles/x', { policy_identifiers: '[{"cps":"https:ann:hunter2@h.test"}]' }],
  ['POST', 'ca/roles/x', { policy_identifiers: ['{"cps":"https:ann:hunter2@h.test"'] }],
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
  ...badUrls,
  ...withCommas,
];

async function recordsSince(seq: number): Promise<{ seq: number; record: string }[]> {
  // What is written now comes after all that waited.
  await writeRecords(running);
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

test('whoever has a URL that was refused finds its record, which tells other fields as they are', async () => {
  const before = (await recordsSince(0)).at(-1)?.seq ?? 0;
  const [url = ''] = FORMS;
  const fields = { issuing_certificates: ['http://fine.test', url], ocsp_servers: ['no URL'] };
  const reply = await call('POST', 'ca/config/urls', fields);
  assert.equal(reply.status, 400);
  const records = (await recordsSince(before)).map(({ record }) => record).join('\n');
  const hash = running.app.barrier.hmac('token', `token:${url}`).toString('hex');
  assert.match(records, new RegExp(`"hmac-sha256:${hash}"\\],"ocsp_servers":\\["no URL"\\]`));
});

test('texts that stand in the hash of another are concealed once, in words of a usual length', async () => {
  const before = (await recordsSince(0)).at(-1)?.seq ?? 0;
  for (const count of [9, 40, 5_000]) {
    const issuing_certificates = [
      'x@y',
      ...Array.from({ length: count }, () => 'a'),
      'hunter2',
      'e',
    ];
    const others = Array.from({ length: count }, (_, at) => `c${at}`);
    for (const list of [issuing_certificates, [...issuing_certificates, ...others]]) {
      const reply = await call('POST', 'ca/config/urls', { issuing_certificates: list });
      assert.equal(reply.status, 400);
    }
  }
  const records = await recordsSince(before);
  assert.ok(records.length >= 6);
  for (const { record } of records) {
    const [, error = ''] = /"error":"((?:[^"\\]|\\.)*)"/.exec(record) ?? [];
    assert.ok(error.length > 0 && error.length < 10_000, `${error.length} characters`);
    assert.doesNotMatch(record, /hunter2|x@y/);
  }
});

test('what is refused and has no user is told as it was sent', async () => {
  const before = (await recordsSince(0)).at(-1)?.seq ?? 0;
  const reply = await call('POST', 'ca/config/urls', { issuing_certificates: 'no://URL{' });
  assert.match(reply.text, /issuing_certificates: no:\/\/URL\{/);
  await call('POST', 'sys/audit/x', { type: 'file', options: { file_path: '/nowhere/a@b/c' } });
  const records = (await recordsSince(before)).map(({ record }) => record).join('\n');
  assert.match(records, /"issuing_certificates":"no:\/\/URL\{"/);
  assert.match(records, /"file_path":"\/nowhere\/a@b\/c"/);
});

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
