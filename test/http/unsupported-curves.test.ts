/** A CA on a curve that is not supported: refused where it comes in, tolerated where it is stored. */

import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from 'kysely';
import { encodePem, parsePem } from '../../src/core/pem.ts';
import { assembleSigned, encodeTbsCertificate } from '../../src/x509/certificate.ts';
import { encodeCsrInfo } from '../../src/x509/csr.ts';
import { basicConstraints } from '../../src/x509/extensions.ts';
import { encodeSubject } from '../../src/x509/names.ts';
import { copyIssuer } from '../support/full-mount.ts';
import { startTestServer } from '../support/server.ts';

const ALGORITHM = 'ECDSAWithSHA256';
const client = await startTestServer({ after });
const { call } = client;

const brainpool = generateKeyPairSync('ec', { namedCurve: 'brainpoolP256r1' });
const infoOf = (key: KeyObject): Uint8Array => key.export({ type: 'spki', format: 'der' });

/** A certificate, self-signed or of a server beneath it, by the key on the curve that is not supported. */
function makeForeign(subject: string, key: KeyObject): Uint8Array {
  const tbs = encodeTbsCertificate({
    serialNumber: Uint8Array.of(1, subject.length),
    signatureAlgorithm: ALGORITHM,
    issuer: encodeSubject({ common_name: 'Foreign' }),
    notBefore: 1_750_000_000,
    notAfter: 4_000_000_000,
    subject: encodeSubject({ common_name: subject }),
    subjectPublicKeyInfo: infoOf(key),
    extensions: [basicConstraints({ ca: true })],
  });
  return assembleSigned(tbs, ALGORITHM, sign('sha256', tbs, brainpool.privateKey));
}

/** A request by a key on a curve, as PEM. */
function makeCsr(namedCurve: string): string {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
  const info = encodeCsrInfo({
    subject: encodeSubject({ common_name: 'a.test' }),
    subjectPublicKeyInfo: infoOf(publicKey),
    extensions: [],
  });
  const signature = sign('sha256', info, privateKey);
  return encodePem('CERTIFICATE REQUEST', assembleSigned(info, ALGORITHM, signature));
}

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki' });
  const root = { common_name: 'R', key_type: 'ec', issuer_name: 'own' };
  const made = await call('POST', 'pki/root/generate/internal', root);
  assert.equal(made.status, 200, made.text);
  await call('POST', 'pki/roles/any', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
});

describe('where a key comes in', () => {
  for (const path of ['sign/any', 'issuer/own/sign/any']) {
    for (const curve of ['prime256v1', 'brainpoolP256r1', 'secp256k1']) {
      const status = curve === 'prime256v1' ? 200 : 400;
      test(`${path} of one on ${curve} is answered with ${status}`, async () => {
        const body = { csr: makeCsr(curve), common_name: 'a.test' };
        const signed = await call('POST', `pki/${path}`, body);
        assert.equal(signed.status, status, signed.text);
        if (status === 400) assert.match(signed.text, /public key not supported: the curve/);
      });
    }
  }
});

describe('where a CA on such a curve is stored', () => {
  let id = '';
  before(async () => {
    const certificate = Buffer.from(makeForeign('Foreign', brainpool.publicKey));
    await copyIssuer(client, 'own', 1, {
      certificate: sql`${certificate}`,
      key_id: sql`''`,
      name: sql`'foreign'`,
    });
    id = (await call('GET', 'pki/issuer/foreign')).textAt('data.issuer_id');
  });

  const stays: [what: string, method: string, path: string, body?: object][] = [
    ['it is read', 'GET', 'issuer/foreign'],
    ['it is sent', 'GET', 'issuer/foreign/pem'],
    ['it is listed', 'LIST', 'issuers'],
    ['it is named', 'PATCH', 'issuer/foreign', { issuer_name: 'foreign' }],
    ['it may be in a chain', 'PATCH', 'issuer/own', { manual_chain: 'self,foreign' }],
    ['others issue', 'POST', 'issue/any', { common_name: 'a.test', remove_roots_from_chain: true }],
    ['CRLs are signed', 'GET', 'crl/rotate'],
    ['a CRL is read', 'GET', 'cert/crl'],
    ['others are made', 'POST', 'root/generate/internal', { common_name: 'S', key_type: 'ec' }],
  ];
  for (const [what, method, path, body] of stays) {
    test(what, async () => {
      const reply = await call(method, `pki/${path}`, body);
      assert.equal(reply.status, 200, reply.text);
    });
  }

  test('it is in its own chain, and in no other unless it is put there', async () => {
    assert.notEqual(id, '');
    const foreign = await call('GET', 'pki/issuer/foreign');
    const chain = foreign.field('data.ca_chain');
    assert.deepEqual(chain, [foreign.textAt('data.certificate')]);
  });

  test('nothing is known to be signed by it', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    const certificate = encodePem('CERTIFICATE', makeForeign('leaf', publicKey));
    assert.equal(parsePem(certificate).length, 1);
    const revoked = await call('POST', 'pki/revoke', { certificate });
    assert.equal(revoked.status, 400, revoked.text);
    assert.match(revoked.text, /unable to verify signature on presented cert/);
  });

  test('an algorithm for it is refused, and it can be removed', async () => {
    const refused = await call('PATCH', 'pki/issuer/foreign', {
      revocation_signature_algorithm: 'ECDSAWithSHA384',
    });
    assert.equal(refused.status, 400, refused.text);
    assert.match(refused.text, /public key not supported/);
    const removed = await call('DELETE', 'pki/issuer/foreign');
    assert.ok(removed.status < 300, removed.text);
  });
});
