/** Keys of every type and size, and the forms that they and their certificates are handed out in, on every path that makes one. */

import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { after, before, test } from 'node:test';
import { parsePem } from '../../src/core/pem.ts';
import { parseCsr } from '../../src/x509/csr.ts';
import { type Reply, startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });
type Fields = Record<string, unknown>;

before(async () => {
  await call('POST', 'sys/mounts/pki', { type: 'pki', config: { max_lease_ttl: '87600h' } });
  await call('POST', 'pki/root/generate/internal', { common_name: 'R', key_type: 'ec' });
});

const KEYS: readonly [sent: Fields, type: string, details: object][] = [
  [{}, 'rsa', { modulusLength: 2048 }],
  [{ key_type: 'rsa', key_bits: 0 }, 'rsa', { modulusLength: 2048 }],
  [{ key_type: 'rsa', key_bits: 3072 }, 'rsa', { modulusLength: 3072 }],
  [{ key_type: 'ec' }, 'ec', { namedCurve: 'prime256v1' }],
  [{ key_type: 'ec', key_bits: 224 }, 'ec', { namedCurve: 'secp224r1' }],
  [{ key_type: 'ec', key_bits: '384' }, 'ec', { namedCurve: 'secp384r1' }],
  [{ key_type: 'ec', key_bits: 521 }, 'ec', { namedCurve: 'secp521r1' }],
  [{ key_type: 'ed25519' }, 'ed25519', {}],
  [{ key_type: 'ed25519', key_bits: 4096 }, 'ed25519', {}],
];
for (const [sent, type, details] of KEYS) {
  test(`a key of ${JSON.stringify(sent)} is made alike for itself, a root, a request and a leaf`, async () => {
    await call('POST', 'pki/roles/it', { allow_any_name: true, ttl: '1h', ...sent });
    for (const path of [
      'keys/generate/exported',
      'root/generate/exported',
      'intermediate/generate/exported',
      'issue/it',
    ]) {
      const request = path.startsWith('keys') ? {} : { common_name: 'a.test' };
      const asked = path === 'issue/it' ? request : { ...request, ...sent };
      const made = await call('POST', `pki/${path}`, asked);
      assert.equal(made.status, 200, `${path}: ${made.text}`);
      const key = createPrivateKey(made.textAt('data.private_key'));
      assert.equal(key.asymmetricKeyType, type, path);
      const { modulusLength, namedCurve } = key.asymmetricKeyDetails ?? {};
      assert.deepEqual(
        { ...(modulusLength && { modulusLength }), ...(namedCurve && { namedCurve }) },
        details,
        path,
      );
    }
  });
}

test('sizes and types that no key has are refused where one is made', async () => {
  for (const sent of [
    { key_type: 'rsa', key_bits: 1024 },
    { key_type: 'rsa', key_bits: 2049 },
    { key_type: 'ec', key_bits: 192 },
    { key_type: 'ec', key_bits: 2048 },
    { key_type: 'any' },
    { key_type: 'dsa' },
  ]) {
    for (const path of ['keys', 'root', 'intermediate']) {
      const asked = path === 'keys' ? sent : { common_name: 'R', ...sent };
      const answer = await call('POST', `pki/${path}/generate/internal`, asked);
      assert.equal(answer.status, 400, `${path} of ${JSON.stringify(sent)}: ${answer.text}`);
    }
  }
});

const PATHS: readonly [path: string, field: 'certificate' | 'csr'][] = [
  ['root/generate/exported', 'certificate'],
  ['issuers/generate/root/exported', 'certificate'],
  ['intermediate/generate/exported', 'csr'],
  ['issuers/generate/intermediate/exported', 'csr'],
  ['issue/ec', 'certificate'],
  ['issuer/default/issue/ec', 'certificate'],
];
for (const [path, field] of PATHS) {
  test(`${path} hands out key and ${field} in every pair of format and private_key_format`, async () => {
    await call('POST', 'pki/roles/ec', { allow_any_name: true, key_type: 'ec', ttl: '1h' });
    const request = { common_name: 'a.test', ...(!path.endsWith('/ec') && { key_type: 'ec' }) };
    for (const format of [undefined, 'pem', 'der', 'pem_bundle']) {
      for (const private_key_format of [undefined, 'der', 'pkcs8']) {
        const why = `${format} and ${private_key_format}`;
        const made = await call('POST', `pki/${path}`, { ...request, format, private_key_format });
        assert.equal(made.status, 200, `${why}: ${made.text}`);
        const isPkcs8 = private_key_format === 'pkcs8';
        assert.equal(made.textAt('data.private_key_type'), 'ec', why);
        judgeKey(made.textAt('data.private_key'), { isDer: format === 'der', isPkcs8, why });
        judgeBody(made, { field, format, why });
      }
    }
  });
}

function judgeKey(text: string, form: { isDer: boolean; isPkcs8: boolean; why: string }): void {
  const { isDer, isPkcs8, why } = form;
  if (isDer) {
    const type = isPkcs8 ? 'pkcs8' : 'sec1';
    const key = createPrivateKey({ key: Buffer.from(text, 'base64'), format: 'der', type });
    assert.equal(key.asymmetricKeyType, 'ec', why);
    return;
  }
  assert.equal(parsePem(text)[0]?.label, isPkcs8 ? 'PRIVATE KEY' : 'EC PRIVATE KEY', why);
}

/** Certificate or request as the format has it: within a bundle the key comes first, in its traditional form. */
function judgeBody(
  made: Reply,
  { field, format, why }: { field: string; format: string | undefined; why: string },
): void {
  const body = made.textAt(`data.${field}`);
  const label = field === 'csr' ? 'CERTIFICATE REQUEST' : 'CERTIFICATE';
  if (format === 'der') {
    const der = Buffer.from(body, 'base64');
    assert.ok(field === 'csr' ? parseCsr(der) : new X509Certificate(der), why);
    return;
  }
  const labels = parsePem(body).map((block) => block.label);
  assert.equal(labels[0], format === 'pem_bundle' ? 'EC PRIVATE KEY' : label, why);
  assert.equal(labels[1], format === 'pem_bundle' ? label : undefined, why);
}
