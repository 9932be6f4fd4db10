/** Keys of ML-DSA and SLH-DSA, in everything that an authority does; the TLS library of the server's own Node judges. */

import assert from 'node:assert/strict';
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  verify,
  X509Certificate,
} from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { encodePem, parsePem } from '../../src/core/pem.ts';
import {
  algorithmIdentifier,
  chooseSignatureAlgorithm,
  signSync,
} from '../../src/x509/algorithms.ts';
import { assembleSigned, parseCertificate, readSigned } from '../../src/x509/certificate.ts';
import { encodeCsrInfo } from '../../src/x509/csr.ts';
import { children, readDer } from '../../src/x509/der-reader.ts';
import { type Extension, subjectAltName } from '../../src/x509/extensions.ts';
import { describePublicKey, publicKeyInfo } from '../../src/x509/keys.ts';
import { encodeSubject } from '../../src/x509/names.ts';
import { isCrlSignedBy, parseCrl } from '../support/crl.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { readOcspVerdict } from '../support/ocsp-response.ts';
import { startTestServer } from '../support/server.ts';

const { call } = await startTestServer({ after });

const derOf = (pem: string): Uint8Array => parsePem(pem)[0]?.der ?? new Uint8Array();
const certificateOf = (pem: string) => parseCertificate(derOf(pem));

interface Kind {
  key_type: string;
  key_bits?: number;
}

let mounts = 0;
/** A mount with a root of its own, and roles `any` and `leaf`. */
async function newAuthority(root: Kind, leaf: Kind): Promise<{ mount: string; root: string }> {
  mounts += 1;
  const mount = `pq${mounts}`;
  await call('POST', `sys/mounts/${mount}`, { type: 'pki' });
  const made = await call('POST', `${mount}/root/generate/internal`, {
    common_name: `Root ${mount}`,
    ttl: '700h',
    ...root,
  });
  assert.equal(made.status, 200, made.text);
  const role = { allow_any_name: true, ttl: '1h' };
  for (const [name, fields] of [
    ['leaf', leaf],
    ['any', { key_type: 'any' }],
  ] as const) {
    const written = await call('POST', `${mount}/roles/${name}`, { ...role, ...fields });
    assert.equal(written.status, 200, written.text);
    assert.equal(written.field('warnings'), null, written.text);
  }
  return { mount, root: made.textAt('data.certificate') };
}

const warningsOf = (reply: { field(path: string): unknown }): unknown => reply.field('warnings');

const authorities: [root: Required<Kind>, leaf: Required<Kind>][] = [
  [
    { key_type: 'mldsa', key_bits: 65 },
    { key_type: 'mldsa', key_bits: 44 },
  ],
  [
    { key_type: 'mldsa', key_bits: 87 },
    { key_type: 'slhdsa-sha2-f', key_bits: 128 },
  ],
  [
    { key_type: 'slhdsa-sha2-f', key_bits: 256 },
    { key_type: 'mldsa', key_bits: 65 },
  ],
  [
    { key_type: 'slhdsa-sha2-s', key_bits: 128 },
    { key_type: 'mldsa', key_bits: 44 },
  ],
  [
    { key_type: 'ec', key_bits: 256 },
    { key_type: 'mldsa', key_bits: 65 },
  ],
];

const nameOf = ({ key_type, key_bits }: Required<Kind>): string => `${key_type} ${key_bits}`;

for (const [root, leaf] of authorities) {
  test(`${nameOf(root)} issues, revokes, lists and answers about keys of ${nameOf(leaf)}`, async () => {
    const { mount, root: rootPem } = await newAuthority(root, leaf);
    const rootCertificate = new X509Certificate(rootPem);
    const own = certificateOf(rootPem);
    assert.deepEqual(describePublicKey(own.subjectPublicKeyInfo), root);
    assert.ok(rootCertificate.verify(rootCertificate.publicKey));
    assert.deepEqual(own.keyUsage, ['CertSign', 'CRLSign']);

    const issued = await call('POST', `${mount}/issue/leaf`, { common_name: 'www.example.com' });
    assert.equal(issued.status, 200, issued.text);
    assert.equal(issued.field('data.private_key_type'), leaf.key_type);
    const certificate = new X509Certificate(issued.textAt('data.certificate'));
    assert.ok(certificate.checkIssued(rootCertificate));
    assert.ok(certificate.verify(rootCertificate.publicKey));
    assert.match(issued.textAt('data.private_key'), /^-----BEGIN PRIVATE KEY-----/);
    assert.ok(certificate.checkPrivateKey(createPrivateKey(issued.textAt('data.private_key'))));
    const parsed = certificateOf(issued.textAt('data.certificate'));
    assert.deepEqual(describePublicKey(parsed.subjectPublicKeyInfo), leaf);
    assert.deepEqual(parsed.keyUsage, ['DigitalSignature']);
    assert.equal(warningsOf(issued), null);

    const ask = async () => {
      const question = encodeOcspRequest({
        issuer: own.subject,
        subjectPublicKeyInfo: own.subjectPublicKeyInfo,
        serialNumber: parsed.serialNumber,
        hash: 'sha1',
      });
      const answer = await call('POST', `${mount}/ocsp`, question, { token: '' });
      assert.ok(isAnswerBy(answer.bytes, rootCertificate.publicKey, root));
      return readOcspVerdict(answer.bytes);
    };
    assert.equal(await ask(), 'good');
    const revoked = await call('POST', `${mount}/revoke-with-key`, {
      serial_number: issued.textAt('data.serial_number'),
      private_key: issued.textAt('data.private_key'),
    });
    assert.equal(revoked.status, 200, revoked.text);
    const verdict = await ask();
    assert.ok(typeof verdict === 'object', 'an answer that was kept is not given any more');

    const crl = await call('GET', `${mount}/crl`, undefined, { token: '' });
    assert.equal(crl.status, 200, crl.text);
    const list = parseCrl(crl.bytes);
    assert.equal([...list.entries()].length, 1);
    assert.ok(isCrlSignedBy(list, own.subjectPublicKeyInfo));
  });
}

/** Whether the signature of a BasicOCSPResponse (RFC 6960 §4.2.1) is by this key. */
function isAnswerBy(der: Uint8Array, key: KeyObject, kind: Required<Kind>): boolean {
  const [, explicit] = children(readDer(der));
  const [responseBytes] = explicit ? children(explicit) : [];
  const octets = responseBytes && children(responseBytes)[1];
  const [data, algorithm, signature] = octets ? children(readDer(octets.content)) : [];
  if (!data || !algorithm || !signature) return false;
  const { key_type, key_bits } = describePublicKey(publicKeyInfo(key));
  assert.deepEqual({ key_type, key_bits }, kind);
  const name = chooseSignatureAlgorithm({ key_type, key_bits });
  assert.deepEqual(Buffer.from(algorithm.raw), Buffer.from(algorithmIdentifier(name)));
  const hash = key_type === 'ec' ? 'sha256' : null;
  return verify(hash, data.raw, key, signature.content.subarray(1));
}

const ML_DSA_44 = generateKeyPairSync('ml-dsa-44').privateKey;
const ML_DSA_65 = generateKeyPairSync('ml-dsa-65').privateKey;
const ML_DSA_87 = generateKeyPairSync('ml-dsa-87').privateKey;
const SLH_DSA = generateKeyPairSync('slh-dsa-sha2-128f').privateKey;
const SLH_DSA_256 = generateKeyPairSync('slh-dsa-sha2-256f').privateKey;
const P_256 = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;

function requestFor(
  key: KeyObject,
  extensions: readonly Extension[] = [
    subjectAltName({ dns: ['a.example'], email: [], ip: [], uri: [], other: [] }, false),
  ],
): { csr: string; info: Uint8Array } {
  const info = publicKeyInfo(key);
  const algorithm = chooseSignatureAlgorithm(describePublicKey(info));
  const subject = encodeSubject({ common_name: 'a.example' });
  const tbs = encodeCsrInfo({ subject, subjectPublicKeyInfo: info, extensions });
  const der = assembleSigned(tbs, algorithm, signSync(key, algorithm, tbs));
  return { csr: encodePem('CERTIFICATE REQUEST', der), info };
}

let shared: { mount: string; root: string };
before(async () => {
  shared = await newAuthority({ key_type: 'mldsa' }, { key_type: 'mldsa' });
});

const requests: [what: string, key: KeyObject, role: object, verdict: true | RegExp][] = [
  ['ML-DSA-65', ML_DSA_65, { key_type: 'mldsa' }, true],
  ['ML-DSA-87', ML_DSA_87, { key_type: 'mldsa' }, true],
  [
    'ML-DSA-44',
    ML_DSA_44,
    { key_type: 'mldsa' },
    /role requires a key of ML-DSA-65 at least, but CSR's key is of ML-DSA-44/,
  ],
  ['ML-DSA-44', ML_DSA_44, { key_type: 'mldsa', key_bits: 44 }, true],
  ['ML-DSA-44', ML_DSA_44, { key_type: 'any' }, true],
  ['ML-DSA-44', ML_DSA_44, { key_type: 'ec' }, /role requires keys of type ec/],
  ['P-256', P_256, { key_type: 'mldsa' }, /role requires keys of type mldsa/],
  ['SLH-DSA-SHA2-128f', SLH_DSA, { key_type: 'slhdsa-sha2-f' }, true],
  ['SLH-DSA-SHA2-128f', SLH_DSA, { key_type: 'any' }, true],
  ['SLH-DSA-SHA2-256f', SLH_DSA_256, { key_type: 'slhdsa-sha2-f', key_bits: 192 }, true],
  [
    'SLH-DSA-SHA2-128f',
    SLH_DSA,
    { key_type: 'slhdsa-sha2-f', key_bits: 192 },
    /role requires a key of SLH-DSA-SHA2-192f at least, but CSR's key is of SLH-DSA-SHA2-128f/,
  ],
  [
    'SLH-DSA-SHA2-128f',
    SLH_DSA,
    { key_type: 'slhdsa-sha2-s' },
    /role requires keys of type slhdsa-sha2-s/,
  ],
];
for (const [what, key, role, verdict] of requests) {
  test(`a request with a key of ${what} under a role with ${JSON.stringify(role)}: ${verdict === true ? 'signed' : 'refused'}`, async () => {
    await call('POST', `${shared.mount}/roles/asked`, { allow_any_name: true, ttl: '1h', ...role });
    const { csr, info } = requestFor(key);
    const signed = await call('POST', `${shared.mount}/sign/asked`, { csr });
    if (verdict !== true) {
      assert.equal(signed.status, 400);
      assert.match(signed.text, verdict);
      return;
    }
    assert.equal(signed.status, 200, signed.text);
    const { subjectPublicKeyInfo } = certificateOf(signed.textAt('data.certificate'));
    assert.deepEqual(Buffer.from(subjectPublicKeyInfo), Buffer.from(info));
  });
}

test('a request whose signature is by another key of the same kind is refused', async () => {
  const { csr } = requestFor(ML_DSA_65);
  const { signed, signature } = readSigned(readDer(derOf(csr)));
  const other = signSync(generateKeyPairSync('ml-dsa-65').privateKey, 'MLDSA65', signed.raw);
  assert.equal(other.length, signature.length);
  const forged = encodePem('CERTIFICATE REQUEST', assembleSigned(signed.raw, 'MLDSA65', other));
  const answer = await call('POST', `${shared.mount}/sign/any`, { csr: forged });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /request signature invalid/);
});

test('the key of a root can be made first, and read', async () => {
  const { mount } = shared;
  const made = await call('POST', `${mount}/keys/generate/exported`, {
    key_type: 'slhdsa-shake-f',
    key_name: 'slh',
  });
  assert.equal(made.status, 200, made.text);
  assert.equal(made.field('data.key_type'), 'slhdsa-shake-f');
  const exported = createPrivateKey(made.textAt('data.private_key'));
  const read = await call('GET', `${mount}/key/slh`);
  assert.equal(read.field('data.key_type'), 'slhdsa-shake-f');
  const root = await call('POST', `${mount}/root/generate/existing`, {
    common_name: 'Second',
    key_ref: 'slh',
    ttl: '100h',
  });
  assert.equal(root.status, 200, root.text);
  const certificate = new X509Certificate(root.textAt('data.certificate'));
  assert.ok(certificate.verify(createPublicKey(exported)));
  for (const body of [
    { key_type: 'mldsa', key_bits: 768 },
    { key_type: 'slhdsa-sha2-s', key_bits: 512 },
    { key_type: 'ml-dsa-65' },
  ]) {
    const refused = await call('POST', `${mount}/keys/generate/internal`, body);
    assert.equal(refused.status, 400, JSON.stringify(body));
  }
});

test('every format of certificate and key has the key as PKCS#8', async () => {
  for (const format of ['pem', 'der', 'pem_bundle']) {
    for (const private_key_format of ['der', 'pkcs8']) {
      const answer = await call('POST', `${shared.mount}/issue/any`, {
        common_name: 'a.example',
        key_type: 'mldsa',
        key_bits: 87,
        format,
        private_key_format,
      });
      assert.equal(answer.status, 200, answer.text);
      const keyText = answer.textAt('data.private_key');
      const key =
        format === 'der'
          ? createPrivateKey({ key: Buffer.from(keyText, 'base64'), format: 'der', type: 'pkcs8' })
          : createPrivateKey(keyText);
      assert.equal(key.asymmetricKeyType, 'ml-dsa-87');
      if (format !== 'pem_bundle') continue;
      const labels = parsePem(answer.textAt('data.certificate')).map(({ label }) => label);
      assert.deepEqual(labels, ['PRIVATE KEY', 'CERTIFICATE', 'CERTIFICATE']);
    }
  }
});

const roleWrites: [fields: object, expected: object | RegExp, why: string][] = [
  [{ key_type: 'mldsa' }, { key_bits: 65, signature_bits: 0 }, 'ML-DSA-65 unless told otherwise'],
  [
    { key_type: 'mldsa', key_bits: 44, signature_bits: 512 },
    { key_bits: 44, signature_bits: 0 },
    'no hash is chosen',
  ],
  [{ key_type: 'slhdsa-shake-s' }, { key_bits: 128 }, 'the smallest unless told otherwise'],
  [
    { key_type: 'mldsa', key_bits: 256 },
    /unsupported bit length for mldsa key: 256/,
    'no such set',
  ],
  [{ key_type: 'slhdsa-sha2-s', key_bits: 64 }, /key_bits may be 128, 192, 256/, 'no such set'],
  [{ key_type: 'slhdsa' }, /unknown key type/, 'no such type'],
  [
    { key_type: 'mldsa', key_usage: ['KeyEncipherment'] },
    /key_usage KeyEncipherment is impossible/,
    'nothing would be left',
  ],
  [
    { key_type: 'mldsa', key_usage: ['Fly', 'KeyAgreement'] },
    /key_usage KeyAgreement is impossible/,
    'nothing that has a meaning would be left',
  ],
  [{ key_type: 'mldsa', key_usage: [] }, { key_bits: 65 }, 'no extension at all is wanted'],
];
for (const [fields, expected, why] of roleWrites) {
  test(`a role with ${JSON.stringify(fields)}: ${why}`, async () => {
    const written = await call('POST', `${shared.mount}/roles/written`, fields);
    if (expected instanceof RegExp) {
      assert.equal(written.status, 400);
      assert.match(written.text, expected);
      return;
    }
    assert.equal(written.status, 200, written.text);
    for (const [field, value] of Object.entries(expected)) {
      assert.equal(written.field(`data.${field}`), value, field);
    }
  });
}

test('usages that the key cannot have are left out, with a warning where they were asked for', async () => {
  const { mount } = shared;
  const role = await call('POST', `${mount}/roles/usages`, {
    allow_any_name: true,
    ttl: '1h',
    key_type: 'mldsa',
    key_usage: ['DigitalSignature', 'keyagreement'],
  });
  assert.match(role.textAt('warnings.0'), /key_usage keyagreement was left out: .*RFC 9881/);
  const issued = await call('POST', `${mount}/issue/usages`, { common_name: 'a.example' });
  assert.match(issued.textAt('warnings.0'), /keyagreement was left out/);
  const { keyUsage: usages } = certificateOf(issued.textAt('data.certificate'));
  assert.deepEqual(usages, ['DigitalSignature']);
});

test("an issuer's revocation_signature_algorithm is that of its key and of no other", async () => {
  const { mount } = shared;
  const read = await call('GET', `${mount}/issuer/default`);
  assert.equal(read.field('data.revocation_signature_algorithm'), 'MLDSA65');
  const write = (revocation_signature_algorithm: string) =>
    call('PATCH', `${mount}/issuer/default`, { revocation_signature_algorithm });
  for (const other of ['MLDSA44', 'MLDSA87', 'SLHDSA-SHA2-128s', 'PureEd25519']) {
    const refused = await write(other);
    assert.equal(refused.status, 400, other);
    assert.match(refused.text, /does not go with the issuer's mldsa key/);
  }
  assert.match((await write('ML-DSA-65')).text, /Unknown signature algorithm value/);
  assert.equal((await write('MLDSA65')).status, 200);
  assert.equal((await write('')).status, 200);
});

test('an OCSP answer that takes long to sign is signed once for all who ask, and has no nonce', async () => {
  const { mount, root } = await newAuthority(
    { key_type: 'slhdsa-sha2-s' },
    { key_type: 'mldsa', key_bits: 44 },
  );
  const { subject, subjectPublicKeyInfo } = certificateOf(root);
  const issued = await call('POST', `${mount}/issue/leaf`, { common_name: 'a.example' });
  const { serialNumber } = certificateOf(issued.textAt('data.certificate'));
  const about = { issuer: subject, subjectPublicKeyInfo, serialNumber, hash: 'sha1' } as const;
  const ask = (nonce?: Uint8Array) =>
    call('POST', `${mount}/ocsp`, encodeOcspRequest({ ...about, ...(nonce && { nonce }) }), {
      token: '',
    });
  const nonces = [undefined, ...[1, 2, 3, 4].map((byte) => new Uint8Array(16).fill(byte))];
  const [first, ...others] = await Promise.all(nonces.map(ask));
  assert.ok(first);
  assert.equal(readOcspVerdict(first.bytes), 'good');
  for (const other of [...others, await ask(new Uint8Array(16).fill(5))]) {
    assert.deepEqual(Buffer.from(other.bytes), Buffer.from(first.bytes));
  }
  await call('POST', `${mount}/revoke`, { serial_number: issued.textAt('data.serial_number') });
  assert.ok(typeof readOcspVerdict((await ask(new Uint8Array(16).fill(6))).bytes) === 'object');
});

const roots: Required<Kind>[] = [
  { key_type: 'mldsa', key_bits: 87 },
  { key_type: 'slhdsa-sha2-f', key_bits: 128 },
];
for (const kind of roots) {
  test(`a certificate of ML-DSA and its chain serve in TLS, until the CRL has it: ${nameOf(kind)}`, async (t) => {
    const { mount, root } = await newAuthority(kind, { key_type: 'mldsa' });
    const issued = await call('POST', `${mount}/issue/leaf`, { common_name: 'www.example.com' });
    const cert = issued.textAt('data.certificate');
    const server = createServer({ cert, key: issued.textAt('data.private_key') }, (socket) =>
      socket.end(),
    );
    server.listen(0, '127.0.0.1');
    t.after(() => server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    /** What OpenSSL says of the server's certificate, which it looks for in the CRL. */
    const judge = async (): Promise<unknown> => {
      const crl = (await call('GET', `${mount}/crl/pem`, undefined, { token: '' })).text;
      const servername = 'www.example.com';
      const options = { port, host: '127.0.0.1', servername, ca: root, crl };
      const socket = connect({ ...options, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      const { authorizationError } = socket;
      socket.destroy();
      return authorizationError;
    };
    assert.equal(await judge(), null);
    await call('POST', `${mount}/revoke`, { serial_number: issued.textAt('data.serial_number') });
    assert.equal(await judge(), 'CERT_REVOKED');
  });
}
