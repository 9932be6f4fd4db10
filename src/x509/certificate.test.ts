import assert from 'node:assert/strict';
import {
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
  X509Certificate,
} from 'node:crypto';
import { test } from 'node:test';
import { algorithmIdentifier, type SignatureAlgorithm, signSync } from './algorithms.ts';
import {
  assembleSigned,
  type Certificate,
  encodeTbsCertificate,
  isSelfIssued,
  isSelfSigned,
  isSignedBy,
  parseCertificate,
  type TbsCertificate,
} from './certificate.ts';
import {
  bitString,
  boolean,
  contextConstructed,
  contextPrimitive,
  integer,
  nullValue,
  octetString,
  oid,
  sequence,
  time,
  unsignedInteger,
} from './der.ts';
import { children, readDer } from './der-reader.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  encodeExtensions,
  subjectAltName,
  subjectKeyIdentifier,
  withEncoding,
} from './extensions.ts';
import { extKeyUsage, keyUsage } from './key-usages.ts';
import { keyIdentifier, publicKeyInfo } from './keys.ts';
import { encodeSubject } from './names.ts';

const refused = { kind: 'invalid' };
const hex = (bytes: Uint8Array | undefined): string | undefined =>
  bytes && Buffer.from(bytes).toString('hex');
const present = <T>(...values: (T | undefined)[]): T[] =>
  values.filter((value) => value !== undefined);

const ca = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const leaf = generateKeyPairSync('ed25519');
const caInfo = publicKeyInfo(ca.publicKey);
const caId = keyIdentifier(caInfo);
const issuer = encodeSubject({ common_name: 'Root', organization: ['Acme'] });
const names = { dns: ['a.test'], email: [], ip: ['192.0.2.1'], uri: [], other: [] };
const NOT_BEFORE = Date.parse('2026-11-21T00:00:00Z') / 1000;
const LAST = Date.parse('9999-12-31T23:59:59Z') / 1000;

const leafTbs: TbsCertificate = {
  serialNumber: Uint8Array.of(0xff, 2, 3),
  signatureAlgorithm: 'ECDSAWithSHA256',
  issuer,
  notBefore: NOT_BEFORE,
  notAfter: LAST,
  subject: encodeSubject({ common_name: 'a.test' }),
  subjectPublicKeyInfo: publicKeyInfo(leaf.publicKey),
  extensions: present(
    keyUsage(['DigitalSignature', 'KeyAgreement']),
    extKeyUsage(['1.3.6.1.5.5.7.3.1']),
    subjectKeyIdentifier(keyIdentifier(publicKeyInfo(leaf.publicKey))),
    authorityKeyIdentifier(caId),
    subjectAltName(names, false),
  ),
};
const rootTbs: TbsCertificate = {
  ...leafTbs,
  subject: issuer,
  subjectPublicKeyInfo: caInfo,
  extensions: present(
    keyUsage(['CertSign', 'CRLSign']),
    basicConstraints({ ca: true, pathLength: 1 }),
    subjectKeyIdentifier(caId),
    authorityKeyIdentifier(caId),
  ),
};

function sign(tbs: TbsCertificate): Uint8Array {
  const bytes = encodeTbsCertificate(tbs);
  return assembleSigned(
    bytes,
    tbs.signatureAlgorithm,
    signSync(ca.privateKey, tbs.signatureAlgorithm, bytes),
  );
}
const leafDer = sign(leafTbs);
const rootDer = sign(rootTbs);

test('a certificate reads back as it was planned', () => {
  const read = parseCertificate(leafDer);
  assert.equal(read.serial, 'ff:02:03');
  assert.equal(read.signatureAlgorithm, 'ECDSAWithSHA256');
  assert.equal(hex(read.issuer), hex(issuer));
  assert.equal(read.subjectName.fields.common_name, 'a.test');
  assert.equal(read.notBefore, NOT_BEFORE);
  assert.equal(read.notAfter, LAST);
  assert.equal(hex(read.tbs), hex(encodeTbsCertificate(leafTbs)));
  assert.equal(hex(read.subjectPublicKeyInfo), hex(leafTbs.subjectPublicKeyInfo));
  assert.deepEqual(
    read.extensions.map(({ oid, critical, value }) => [oid, critical, hex(value)]),
    leafTbs.extensions.map(({ oid, critical, value }) => [oid, critical, hex(value)]),
  );
  assert.equal(read.isCa, false);
  assert.deepEqual(read.keyUsage, ['DigitalSignature', 'KeyAgreement']);
  assert.equal(hex(read.authorityKeyId), hex(caId));
  assert.deepEqual(read.subjectAltNames, { ...names, unknown: [] });
});

test('a CA is seen by its basic constraints', () => {
  const read = parseCertificate(rootDer);
  assert.equal(read.isCa, true);
  assert.equal(read.pathLength, 1);
  assert.equal(hex(read.subjectKeyId), hex(caId));
});

test("Node's own reader sees the same certificate", () => {
  const read = new X509Certificate(leafDer);
  assert.equal(read.serialNumber, 'FF0203');
  assert.equal(read.subject, 'CN=a.test');
  assert.equal(read.validTo, 'Dec 31 23:59:59 9999 GMT');
  assert.equal(read.subjectAltName, 'DNS:a.test, IP Address:192.0.2.1');
  assert.equal(read.verify(ca.publicKey), true);
  assert.equal(read.checkIssued(new X509Certificate(rootDer)), true);
});

test('the signature is by the key that made it and no other', () => {
  const read = parseCertificate(leafDer);
  assert.equal(isSignedBy(read, caInfo), true);
  assert.equal(
    isSignedBy(
      read,
      publicKeyInfo(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey),
    ),
    false,
  );
  assert.equal(isSignedBy(read, publicKeyInfo(leaf.publicKey)), false);
  const changed = Buffer.from(leafDer);
  changed[leafDer.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  assert.equal(isSignedBy(parseCertificate(changed), caInfo), false);
});

const CURVES: [curve: string, isKnown: boolean][] = [
  ['prime256v1', true],
  ['brainpoolP256r1', false],
  ['secp256k1', false],
];

for (const [namedCurve, isKnown] of CURVES) {
  test(`a signature by a key on ${namedCurve} ${isKnown ? 'is' : 'cannot be'} verified`, () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve });
    const subjectPublicKeyInfo = publicKey.export({ type: 'spki', format: 'der' });
    const tbs = encodeTbsCertificate({ ...rootTbs, subjectPublicKeyInfo });
    const signature = signBytes('sha256', tbs, privateKey);
    const der = assembleSigned(tbs, rootTbs.signatureAlgorithm, signature);
    assert.equal(new X509Certificate(der).verify(publicKey), true);
    const read = parseCertificate(der);
    assert.equal(isSignedBy(read, subjectPublicKeyInfo), isKnown);
    assert.equal(isSelfSigned(read), isKnown);
    assert.equal(isSignedBy(parseCertificate(leafDer), subjectPublicKeyInfo), false);
  });
}

test('a root is self-signed; the same names with another signature are only self-issued', () => {
  const root = parseCertificate(rootDer);
  assert.equal(isSelfSigned(root), true);
  const rollover: Certificate = parseCertificate(
    sign({ ...rootTbs, subjectPublicKeyInfo: publicKeyInfo(leaf.publicKey) }),
  );
  assert.equal(isSelfIssued(rollover), true);
  assert.equal(isSelfSigned(rollover), false);
  assert.equal(isSelfIssued(parseCertificate(leafDer)), false);
});

test('a signature of an algorithm we do not verify is never right', () => {
  const sha1 = sequence(Buffer.from('06092a864886f70d010105', 'hex'), nullValue());
  const der = rebuild((fields) => {
    fields[2] = sha1;
  }, sha1);
  const read = parseCertificate(der);
  assert.equal(read.signatureAlgorithm, undefined);
  assert.equal(isSignedBy(read, caInfo), false);
});

/** The leaf with some of its tbsCertificate's fields changed, and another algorithm outside if given. */
function rebuild(change: (fields: Uint8Array[]) => void, algorithm?: Uint8Array): Uint8Array {
  const [tbs, outer, signature] = children(readDer(leafDer));
  if (!tbs || !outer || !signature) throw new Error('three parts');
  const fields = children(tbs).map((field) => field.raw);
  change(fields);
  return sequence(
    sequence(...fields.filter((field) => field.length > 0)),
    algorithm ?? outer.raw,
    signature.raw,
  );
}
const gone = new Uint8Array(0);

const changes: [what: string, change: (fields: Uint8Array[]) => void, accepted: boolean][] = [
  ['nothing changed', () => {}, true],
  [
    'version 4',
    (fields) => {
      fields[0] = contextConstructed(0, integer(3));
    },
    false,
  ],
  [
    'version 3 without extensions',
    (fields) => {
      fields[7] = gone;
    },
    true,
  ],
  [
    'version 1',
    (fields) => {
      fields[0] = gone;
      fields[7] = gone;
    },
    true,
  ],
  [
    'version 1 with extensions',
    (fields) => {
      fields[0] = gone;
    },
    false,
  ],
  [
    'version 2 with extensions',
    (fields) => {
      fields[0] = contextConstructed(0, integer(1));
    },
    false,
  ],
  [
    'version 2 with a unique id',
    (fields) => {
      fields[0] = contextConstructed(0, integer(1));
      fields[7] = contextPrimitive(1, Uint8Array.of(0, 1));
    },
    true,
  ],
  [
    'a serial number of 64 bytes',
    (fields) => {
      fields[1] = unsignedInteger(new Uint8Array(64).fill(1));
    },
    true,
  ],
  [
    'a serial number of 65 bytes',
    (fields) => {
      fields[1] = unsignedInteger(new Uint8Array(65).fill(1));
    },
    false,
  ],
  [
    'a negative serial number',
    (fields) => {
      fields[1] = integer(-1);
    },
    false,
  ],
  [
    'another algorithm inside',
    (fields) => {
      fields[2] = sequence(Buffer.from('06032b6570', 'hex'));
    },
    false,
  ],
  [
    'only one time',
    (fields) => {
      fields[4] = sequence(time(0));
    },
    false,
  ],
  [
    'three times',
    (fields) => {
      fields[4] = sequence(time(0), time(0), time(0));
    },
    false,
  ],
  [
    'a subject that is no name',
    (fields) => {
      fields[5] = sequence(integer(1));
    },
    false,
  ],
  [
    'a key that is not well formed',
    (fields) => {
      fields[6] = Buffer.from('30023005', 'hex');
    },
    false,
  ],
  [
    'a key of an unknown kind',
    (fields) => {
      fields[6] = sequence(sequence(Buffer.from('06012a', 'hex')), bitString(new Uint8Array(1)));
    },
    true,
  ],
  [
    'an extension twice',
    (fields) => {
      fields[7] = contextConstructed(
        3,
        encodeExtensions([subjectKeyIdentifier(caId), subjectKeyIdentifier(caId)]),
      );
    },
    false,
  ],
  [
    'a known extension that cannot be read',
    (fields) => {
      fields[7] = contextConstructed(
        3,
        encodeExtensions([{ oid: '2.5.29.19', critical: true, value: integer(1) }]),
      );
    },
    false,
  ],
  [
    'an unknown extension that cannot be read',
    (fields) => {
      fields[7] = contextConstructed(
        3,
        encodeExtensions([{ oid: '1.2.3', critical: true, value: Uint8Array.of(1) }]),
      );
    },
    true,
  ],
  [
    'a stray field',
    (fields) => {
      fields.push(nullValue());
    },
    false,
  ],
];
for (const [what, change, accepted] of changes) {
  test(`a certificate with ${what} is ${accepted ? 'read' : 'refused'}`, () => {
    if (accepted) assert.equal(parseCertificate(rebuild(change)).notAfter, LAST);
    else assert.throws(() => parseCertificate(rebuild(change)), refused);
  });
}

test('a certificate cut short anywhere, or with a byte behind it, is refused', () => {
  for (let length = 0; length < leafDer.length; length++) {
    assert.throws(() => parseCertificate(leafDer.subarray(0, length)), refused);
  }
  assert.throws(() => parseCertificate(Buffer.concat([leafDer, Uint8Array.of(0)])), refused);
});

test('whichever byte is changed, the certificate is read or refused, and never verifies', () => {
  for (let at = 0; at < leafDer.length; at++) {
    for (const flip of [0x01, 0x80, 0xff]) {
      const changed = Buffer.from(leafDer);
      changed[at] = (changed[at] ?? 0) ^ flip;
      let read: Certificate;
      try {
        read = parseCertificate(changed);
      } catch (error) {
        assert.equal(error instanceof Error && error.name, 'DerError');
        continue;
      }
      // Only bytes under the signature or the signature itself can differ in one that reads.
      if (at % 16 === 0) assert.equal(isSignedBy(read, caInfo), false);
    }
  }
});

test('every algorithm can be named in a certificate', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const p521 = generateKeyPairSync('ec', { namedCurve: 'secp521r1' });
  const cases: [SignatureAlgorithm, { privateKey: KeyObject; publicKey: KeyObject }][] = [
    ['SHA256WithRSA', rsa],
    ['SHA512WithRSAPSS', rsa],
    ['ECDSAWithSHA512', p521],
    ['PureEd25519', leaf],
  ];
  for (const [signatureAlgorithm, pair] of cases) {
    const bytes = encodeTbsCertificate({ ...rootTbs, signatureAlgorithm });
    const der = assembleSigned(
      bytes,
      signatureAlgorithm,
      signSync(pair.privateKey, signatureAlgorithm, bytes),
    );
    assert.equal(isSignedBy(parseCertificate(der), publicKeyInfo(pair.publicKey)), true);
    assert.equal(new X509Certificate(der).verify(pair.publicKey), true);
  }
});

test('a time beyond the year 9999 cannot be written', () => {
  assert.throws(() => encodeTbsCertificate({ ...leafTbs, notAfter: LAST + 1 }), RangeError);
});

test('what is put together in one pass, with extensions that were encoded before, is each value within the next', () => {
  const long = { oid: '1.2.3.4', critical: true, value: sequence(new Uint8Array(70_000)) };
  const short = { oid: '1.2.3.5', critical: false, value: nullValue() };
  const all = present(...leafTbs.extensions, keyUsage(['DigitalSignature']), short, long);
  for (let count = 0; count <= all.length; count += 1) {
    const extensions = all.slice(0, count);
    const inner =
      count === 0
        ? []
        : [
            contextConstructed(
              3,
              sequence(
                ...extensions.map(({ oid: type, critical, value }) =>
                  sequence(oid(type), ...(critical ? [boolean(true)] : []), octetString(value)),
                ),
              ),
            ),
          ];
    const expected = sequence(
      contextConstructed(0, integer(2)),
      unsignedInteger(leafTbs.serialNumber),
      algorithmIdentifier(leafTbs.signatureAlgorithm),
      leafTbs.issuer,
      sequence(time(leafTbs.notBefore), time(leafTbs.notAfter)),
      leafTbs.subject,
      leafTbs.subjectPublicKeyInfo,
      ...inner,
    );
    for (const each of [extensions, extensions.map(withEncoding)]) {
      const encoded = encodeTbsCertificate({ ...leafTbs, extensions: each });
      assert.equal(Buffer.compare(encoded, expected), 0, `${count} extensions`);
    }
  }
});
