import assert from 'node:assert/strict';
import { createHash, randomBytes, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { makeRoot, ROOT_MS, ROOT_RANDOMNESS } from './root.ts';

test('a root of workers is a certificate authority of its own, and its hash is of its key', () => {
  const from = Date.parse('2026-11-21T12:00:00.500Z');
  const root = makeRoot(randomBytes(ROOT_RANDOMNESS), from);
  const certificate = new X509Certificate(root.certificate);
  assert.ok(certificate.ca);
  assert.ok(certificate.verify(certificate.publicKey));
  assert.equal(certificate.publicKey.asymmetricKeyType, 'ed25519');
  const spki = certificate.publicKey.export({ type: 'spki', format: 'der' });
  assert.equal(root.public_key_sha256, createHash('sha256').update(spki).digest('hex'));
  assert.equal(certificate.validFromDate.getTime(), root.not_before_ms);
  assert.equal(certificate.validToDate.getTime(), root.not_after_ms);
  assert.ok(root.not_before_ms < from && root.not_after_ms <= from + ROOT_MS);
});
