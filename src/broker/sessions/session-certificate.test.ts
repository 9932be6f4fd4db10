import assert from 'node:assert/strict';
import { createPublicKey, sign, verify } from 'node:crypto';
import { test } from 'node:test';
import { isSelfSigned, parseCertificate } from '../../x509/certificate.ts';
import { findExtension } from '../../x509/extensions.ts';
import { parseExtKeyUsage } from '../../x509/key-usages.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import { hostOf, makeSessionCertificate } from './session-certificate.ts';
import { sessionKey } from './session-key.ts';

const request = {
  session_id: 's_1234567890',
  worker_addresses: ['worker.example:9202', '127.0.0.1:9202', '[2001:db8::1]:9202'],
  seed: Uint8Array.from({ length: 32 }, (_, at) => at),
  serial: Uint8Array.from({ length: 8 }, () => 0xff),
  now: 1_800_000_000,
  expires_at: 1_800_028_800,
};

test('the certificate is the root and the identity of both ends', () => {
  const made = parseCertificate(makeSessionCertificate(request).certificate);
  assert.ok(isSelfSigned(made));
  assert.equal(made.isCa, true);
  assert.deepEqual(made.keyUsage, [
    'DigitalSignature',
    'KeyEncipherment',
    'KeyAgreement',
    'CertSign',
  ]);
  assert.equal(made.notBefore, request.now - 60);
  assert.equal(made.notAfter, request.expires_at);
  assert.equal(made.subject.length, 2);
  assert.equal(made.issuer.length, 2);
  assert.ok(made.subjectKeyId);
  const purposes = findExtension(made.extensions, EXTENSION_OID.extKeyUsage)?.value;
  assert.deepEqual(purposes && parseExtKeyUsage(purposes), [
    '1.3.6.1.5.5.7.3.1',
    '1.3.6.1.5.5.7.3.2',
  ]);
});

test('the session comes first among the names, then the workers without their ports', () => {
  const { certificate } = makeSessionCertificate(request);
  const made = parseCertificate(certificate);
  assert.deepEqual(made.subjectAltNames?.dns, ['s_1234567890', 'worker.example']);
  assert.deepEqual(made.subjectAltNames?.ip, ['127.0.0.1', '2001:db8::1']);
  const critical = made.extensions.filter((extension) => extension.critical);
  assert.deepEqual(
    critical.map((extension) => extension.oid),
    [EXTENSION_OID.keyUsage, EXTENSION_OID.basicConstraints, EXTENSION_OID.subjectAltName],
  );
});

test('the serial number is positive and has 63 bits; it is never 0', () => {
  const serial = (bytes: Uint8Array): string =>
    parseCertificate(makeSessionCertificate({ ...request, serial: bytes }).certificate).serial;
  assert.equal(serial(request.serial), '7f:ff:ff:ff:ff:ff:ff:ff');
  assert.equal(serial(new Uint8Array(8)), '01');
  assert.equal(serial(Uint8Array.of(0x80, 0, 0, 0, 0, 0, 0, 0)), '01');
});

test('the private key is its seed and the public key that the certificate has', () => {
  const { certificate, private_key } = makeSessionCertificate(request);
  assert.equal(private_key.length, 64);
  assert.deepEqual(private_key.subarray(0, 32), Buffer.from(request.seed));
  const publicKey = createPublicKey({
    key: Buffer.from(parseCertificate(certificate).subjectPublicKeyInfo),
    format: 'der',
    type: 'spki',
  });
  const { x = '' } = publicKey.export({ format: 'jwk' });
  assert.deepEqual(private_key.subarray(32), Buffer.from(x, 'base64url'));
  const data = Buffer.from('data');
  assert.ok(verify(null, data, publicKey, sign(null, data, sessionKey(private_key))));
});

for (const [address, host] of [
  ['127.0.0.1:9202', '127.0.0.1'],
  ['127.0.0.1', '127.0.0.1'],
  ['w.example:1', 'w.example'],
  ['[::1]:9202', '::1'],
  ['[::1]', '::1'],
  ['::1', '::1'],
]) {
  test(`the host of ${address} is ${host}`, () => assert.equal(hostOf(address ?? ''), host));
}
