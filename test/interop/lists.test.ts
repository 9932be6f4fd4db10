/** OpenSSL judges the CRLs of a real server, short ones and such as a thread makes. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { insertRevocation } from '../../src/pki/mount-state/revocations.store.ts';
import { formatSerial } from '../../src/x509/serial.ts';
import { withOpenssl } from '../support/openssl.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const { call, running } = await startTestServer({ after });

/** Puts many revocations into the store at once. */
async function revokeMany(mount_id: string, issuer_id: string, from: number, to: number) {
  const { store } = running.app;
  const sets = Array.from({ length: to - from }, (_, at) => {
    const number = from + at;
    const serial = formatSerial(Uint8Array.of(0x80, number & 0xff, number >> 8, 7));
    return insertRevocation(mount_id, { serial, issuer_id, revoked_at_ms: 1.7e12, reason: 0 });
  });
  await Promise.all(sets.map((set) => store.commit(set)));
}

function judge(ca: string, crl: Reply, expected: { entries: number; serial: string }): void {
  assert.equal(crl.status, 200, crl.text);
  withOpenssl((openssl) => {
    openssl.write('ca.pem', ca);
    openssl.write('list.der', crl.bytes);
    const text = openssl.must(
      ...['crl', '-in', 'list.der', '-inform', 'DER', '-noout', '-text', '-verify'],
      ...['-CAfile', 'ca.pem'],
    );
    assert.match(text, /verify OK/);
    assert.equal(text.match(/Serial Number: /g)?.length ?? 0, expected.entries);
    assert.ok(text.includes(expected.serial.replaceAll(':', '').toUpperCase()));
  });
}

const keys: [key_type: string, key_bits: number][] = [
  ['ec', 256],
  ['ec', 384],
  ['rsa', 2048],
  ['ed25519', 0],
];
for (const [key_type, key_bits] of keys) {
  test(`OpenSSL verifies every CRL of a CA with a key ${key_type} ${key_bits}, however it was made`, async () => {
    const mount = `${key_type}${key_bits}`;
    await call('POST', `sys/mounts/${mount}`, { type: 'pki' });
    const root = { common_name: 'R', key_type, key_bits };
    const ca = (await call('POST', `${mount}/root/generate/internal`, root)).textAt(
      'data.certificate',
    );
    await call('POST', `${mount}/roles/any`, {
      allow_any_name: true,
      key_type: 'ec',
      max_ttl: '1h',
    });
    const issued = await call('POST', `${mount}/issue/any`, { common_name: 'a.example' });
    const serial = issued.textAt('data.serial_number');
    await call('POST', `${mount}/revoke`, { serial_number: serial });
    judge(ca, await call('GET', `${mount}/crl`), { entries: 1, serial });

    const { db } = running.app;
    const { id, mount_id } = await db
      .selectFrom('pki_issuer')
      .select(['id', 'mount_id'])
      .where('id', '=', (await call('GET', `${mount}/config/issuers`)).textAt('data.default'))
      .executeTakeFirstOrThrow();
    await revokeMany(mount_id, id, 0, 2500);
    judge(ca, await call('GET', `${mount}/crl`), { entries: 2501, serial });
    await revokeMany(mount_id, id, 2500, 2503);
    judge(ca, await call('GET', `${mount}/crl`), { entries: 2504, serial });
  });
}
