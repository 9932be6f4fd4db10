import { openKey } from '../../src/pki/keys/sealed-keys.operations.ts';
/** What is kept of a mount state goes with it: what is held by nothing is collected. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parsePem } from '../../src/core/pem.ts';
import { readMounts } from '../../src/mounts/operations.ts';
import { countMountsRead, readMountState } from '../../src/pki/mount-state/operations.ts';
import { parseCertificate } from '../../src/x509/certificate.ts';
import { heapUsed } from '../support/heap.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { readOcspVerdict } from '../support/ocsp-response.ts';
import { type Client, startTestServer } from '../support/server.ts';

/** A mount with a root, and who asks it about serial numbers. */
async function makeMount({ call, running }: Client, path: string) {
  await call('POST', `sys/mounts/${path}`, { type: 'pki' });
  const root = await call('POST', `${path}/root/generate/internal`, { common_name: path });
  const pem = root.textAt('data.certificate');
  const { subject, subjectPublicKeyInfo } = parseCertificate(
    parsePem(pem)[0]?.der ?? new Uint8Array(),
  );
  const ask = async (serial: number): Promise<void> => {
    const serialNumber = Uint8Array.of(1, serial);
    const of = { issuer: subject, subjectPublicKeyInfo, serialNumber, hash: 'sha1' } as const;
    const answer = await call('POST', `${path}/ocsp`, encodeOcspRequest(of), { token: '' });
    assert.equal(readOcspVerdict(answer.bytes), 'good');
  };
  const mount_id = (await readMounts(running.app)).get(`${path}/`)?.id ?? '';
  const look = async () => new WeakRef(await readMountState(running.app, mount_id));
  return { mount_id, ask, look };
}

test('an answer that is kept holds no mount state of the past', async (t) => {
  const client = await startTestServer(t);
  const { ask, look } = await makeMount(client, 'ca');
  const past: WeakRef<object>[] = [];
  for (let change = 0; change < 5; change++) {
    await ask(change);
    past.push(await look());
    await client.call('POST', 'ca/config/urls', { ocsp_servers: [`http://${change}.test`] });
  }
  await ask(0);
  const present = await look();
  await nextTurn();
  heapUsed();
  assert.ok(present.deref(), 'the present one is kept');
  assert.deepEqual(
    past.map((state) => state.deref() !== undefined),
    [false, false, false, false, false],
  );
});

test('the state of a mount is read anew when something of its own was changed, and for nothing else', async (t) => {
  const client = await startTestServer(t);
  const { call, running } = client;
  const { app } = running;
  const { mount_id } = await makeMount(client, 'ca');
  await makeMount(client, 'other');
  const read = () => readMountState(app, mount_id);
  const issuer = (await read()).defaults.default_issuer;
  const KEEPS: [path: string, body: object][] = [
    ['identity/entity', { name: 'e' }],
    ['sys/policies/acl/p', { policy: 'path "x" { capabilities = ["read"] }' }],
    ['sys/mounts/ca/tune', { description: 'x' }],
    ['other/config/urls', { ocsp_servers: ['http://x.test'] }],
    ['other/root/generate/internal', { common_name: 'x' }],
    ['ca/roles/r', { allow_any_name: true }],
  ];
  for (const [path, body] of KEEPS) {
    const before = await read();
    const reply = await call('POST', path, body);
    assert.ok(reply.status < 300, `${path}: ${reply.text}`);
    assert.equal(await read(), before, path);
  }
  const CHANGES: [path: string, body: object][] = [
    ['ca/config/urls', { ocsp_servers: ['http://x.test'] }],
    ['ca/keys/generate/internal', { key_type: 'ec' }],
    ['ca/issuer/default', { issuer_name: 'named' }],
    ['ca/root/generate/internal', { common_name: 'x' }],
    ['ca/config/issuers', { default: issuer, default_follows_latest_issuer: true }],
  ];
  for (const [path, body] of CHANGES) {
    const before = await read();
    const reply = await call('POST', path, body);
    assert.ok(reply.status < 300, `${path}: ${reply.text}`);
    assert.notEqual(await read(), before, path);
  }
  assert.equal((await read()).urls.ocsp_servers[0], 'http://x.test');
  const before = await read();
  await call('DELETE', 'sys/mounts/other');
  assert.equal(await read(), before);
});

test('certificates of a mount are kept until it is removed, and those of others then, too', async (t) => {
  const client = await startTestServer(t);
  const { app } = client.running;
  const before = countMountsRead(app);
  await (await makeMount(client, 'one')).ask(1);
  await (await makeMount(client, 'two')).ask(1);
  assert.equal(countMountsRead(app), before + 2);
  await client.call('POST', 'one/roles/any', { allow_any_name: true });
  await nextTurn();
  assert.equal(countMountsRead(app), before + 2);
  await client.call('DELETE', 'sys/mounts/one');
  await client.call('GET', 'two/ca/pem');
  assert.equal(countMountsRead(app), before + 1);
});

test('a key that was deleted is opened nowhere any more', async (t) => {
  const client = await startTestServer(t);
  const { app } = client.running;
  const { mount_id } = await makeMount(client, 'ca');
  const made = await client.call('POST', 'ca/keys/generate/internal', { key_type: 'ec' });
  const id = made.textAt('data.key_id');
  const open = async (): Promise<WeakRef<object>> => {
    const key = (await readMountState(app, mount_id)).keys.get(id);
    assert.ok(key);
    const opened = await openKey(app, mount_id, key);
    assert.equal(await openKey(app, mount_id, key), opened, 'it is opened once');
    return new WeakRef(opened);
  };
  const opened = await open();
  await nextTurn();
  heapUsed();
  assert.ok(opened.deref());
  assert.equal((await client.call('DELETE', `ca/key/${id}`)).status, 204);
  await readMountState(app, mount_id);
  await nextTurn();
  heapUsed();
  assert.equal(opened.deref(), undefined);
});
