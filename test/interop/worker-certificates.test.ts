import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { LEAF_MS, LEAF_RANDOMNESS, makeLeaf } from '../../src/broker/workers/root/leaf.ts';
import { makeRoot, ROOT_MS, ROOT_RANDOMNESS } from '../../src/broker/workers/root/root.ts';
import { encodePem } from '../../src/core/pem.ts';
import { type Openssl, withOpenssl } from '../support/openssl.ts';

const now = Date.now();
const root = makeRoot(randomBytes(ROOT_RANDOMNESS), now);
const other = makeRoot(randomBytes(ROOT_RANDOMNESS), now);

function leafOf(name: string, from_ms = now) {
  const { publicKey } = generateKeyPairSync('ed25519');
  return makeLeaf(root, {
    name,
    subjectPublicKeyInfo: publicKey.export({ type: 'spki', format: 'der' }),
    random: randomBytes(LEAF_RANDOMNESS),
    from_ms,
  });
}

function withFiles(certificate: Uint8Array, use: (openssl: Openssl) => void): void {
  withOpenssl((openssl) => {
    openssl.write('root.pem', encodePem('CERTIFICATE', root.certificate));
    openssl.write('other.pem', encodePem('CERTIFICATE', other.certificate));
    openssl.write('leaf.pem', encodePem('CERTIFICATE', certificate));
    use(openssl);
  });
}

const VERIFY = ['verify', '-x509_strict', '-check_ss_sig'];

for (const purpose of ['sslserver', 'sslclient']) {
  test(`OpenSSL takes a worker's certificate under its root for ${purpose}`, () => {
    withFiles(leafOf('w_1234567890').certificate, (openssl) => {
      const as = [...VERIFY, '-purpose', purpose, '-verify_hostname', 'w_1234567890'];
      const judged = openssl.run(...as, '-CAfile', 'root.pem', 'leaf.pem');
      assert.equal(judged.status, 0, judged.text);
    });
  });
}

test('OpenSSL refuses it under another root of the same name, for another worker, and later', () => {
  withFiles(leafOf('w_1234567890').certificate, (openssl) => {
    const refused: [args: string[], because: RegExp][] = [
      [['-CAfile', 'other.pem'], /unable to get local issuer certificate|signature failure/],
      [['-CAfile', 'root.pem', '-verify_hostname', 'w_1234567891'], /hostname mismatch/],
      [
        ['-CAfile', 'root.pem', '-attime', String(Math.floor((now + LEAF_MS) / 1000) + 1)],
        /certificate has expired/,
      ],
    ];
    for (const [args, because] of refused) {
      const judged = openssl.run(...VERIFY, ...args, 'leaf.pem');
      assert.notEqual(judged.status, 0);
      assert.match(judged.text, because);
    }
  });
});

test('a worker can issue nothing under its certificate', () => {
  withFiles(leafOf('w_1').certificate, (openssl) => {
    const text = openssl.must('x509', '-in', 'leaf.pem', '-noout', '-text');
    assert.match(text, /Basic Constraints: critical\n\s+CA:FALSE\n/);
    assert.match(text, /Key Usage: critical\n\s+Digital Signature\n/);
    assert.match(text, /Extended Key Usage: \n\s+TLS Web Server Authentication, TLS Web Client/);
  });
});

test('no certificate outlasts its root', () => {
  const late = leafOf('w_1', now + ROOT_MS - 86_400_000);
  assert.ok(late.not_after_ms <= root.not_after_ms);
  assert.equal(leafOf('w_1').not_after_ms, Math.floor((now + LEAF_MS) / 1000) * 1000);
});
