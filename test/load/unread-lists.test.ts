import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { insertCertificate } from '../../src/pki/certificates/store.ts';
import { startTestServer } from '../support/server.ts';

// A long list is sent while it is read from the store, a page at a time.

const client = await startTestServer({ after }, { on_one: 'the listener is looked into' });
const { app } = client.running;
const mount = await client.call('POST', 'sys/mounts/long', { type: 'pki' });
assert.equal(mount.status, 204, mount.text);
const described = await client.call('GET', 'sys/mounts/long');
const mount_id = described.textAt('data.uuid');

const COUNT = 2500;
const serials = Array.from({ length: COUNT }, (_, at) => {
  const hex = (0x100000 + at).toString(16);
  return [hex.slice(0, 2), hex.slice(2, 4), hex.slice(4, 6)].join(':');
});
const row = (serial: string) => ({
  serial,
  issuer_id: '',
  role: '',
  subject_cn: '',
  not_before: 0,
  not_after: 0,
  der: Buffer.alloc(0),
});
for (let at = 0; at < COUNT; at += 500) {
  const page = serials.slice(at, at + 500);
  await app.store.commit(page.flatMap((serial) => insertCertificate(mount_id, row(serial), [])));
}

for (const [query, wanted] of [
  ['', serials],
  ['?limit=2400', serials.slice(0, 2400)],
  ['?limit=1000', serials.slice(0, 1000)],
  ['?limit=1001', serials.slice(0, 1001)],
  [`?after=${serials[499]}`, serials.slice(500)],
  [`?after=${serials[1499]}`, serials.slice(1500)],
  [`?after=${serials[2498]}&limit=0`, serials.slice(2499)],
] as const) {
  test(`LIST certs${query} has all of it, in order`, async () => {
    const answer = await client.call('LIST', `long/certs${query}`);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.field('data.keys'), wanted);
    assert.equal(answer.field('mount_type'), 'pki');
  });
}

test('after the last one nothing is found', async () => {
  const answer = await client.call('LIST', `long/certs?after=${serials.at(-1)}`);
  assert.equal(answer.status, 404);
});

test('a long list is wrapped whole', async () => {
  const headers = { 'x-vault-wrap-ttl': '60' };
  const wrapped = await client.call('LIST', 'long/certs', undefined, { headers });
  const token = wrapped.textAt('wrap_info.token');
  const unwrapped = await client.call('POST', 'sys/wrapping/unwrap', { token });
  assert.deepEqual(unwrapped.field('data.keys'), serials);
});

test('who asks for long lists and reads none keeps nobody else from theirs', async () => {
  const { port } = client.running.address;
  const ask = 'LIST /v1/long/certs HTTP/1.1\r\nHost: localhost\r\nX-Vault-Token: root\r\n\r\n';
  const sockets = Array.from({ length: 5 }, () => connect({ port, host: '127.0.0.1' }).pause());
  for (const socket of sockets) socket.on('error', () => {}).write(ask);
  const before = await client.call('LIST', 'long/certs');
  assert.deepEqual(before.field('data.keys'), serials);
  assert.ok(client.running.http.held().unsent < sockets.length * 512 * 1024);
  for (const socket of sockets) socket.destroy();
});
