import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';

import { Failure } from '../core/failure.ts';
import { encodePem } from '../core/pem.ts';
import { algorithmIdentifier, type SignatureAlgorithm, signSync } from './algorithms.ts';
import { assembleSigned } from './certificate.ts';
import {
  type Csr,
  type CsrInfo,
  encodeCsrInfo,
  isCsrSignatureValid,
  parseCsr,
  verifyCsrSignature,
} from './csr.ts';
import {
  bitString,
  contextConstructed,
  directoryString,
  integer,
  nullValue,
  octetString,
  oid,
  sequence,
  setOf,
} from './der.ts';
import { basicConstraints, encodeExtensions, subjectAltName } from './extensions.ts';
import { publicKeyInfo } from './keys.ts';
import { encodeSubject } from './names.ts';

const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const subjectPublicKeyInfo = publicKeyInfo(p256.publicKey);
const subject = encodeSubject({ organization: ['Acme'], common_name: 'a.test' });
const names = { dns: ['a.test', 'b.test'], email: [], ip: ['192.0.2.1'], uri: [], other: [] };
const extensions = [basicConstraints({ ca: true }), subjectAltName(names, false)];
const info: CsrInfo = { subject, subjectPublicKeyInfo, extensions };

function signInfo(
  encoded: Uint8Array,
  key: KeyObject = p256.privateKey,
  algorithm: SignatureAlgorithm = 'ECDSAWithSHA256',
): Uint8Array {
  return assembleSigned(encoded, algorithm, signSync(key, algorithm, encoded));
}

const csr = signInfo(encodeCsrInfo(info));
const pem = encodePem('CERTIFICATE REQUEST', csr);

const readSigned = (input: string | Uint8Array): Csr => {
  const read = parseCsr(input);
  assert.equal(isCsrSignatureValid(read), true);
  return read;
};

test('a request reads back as built', () => {
  const read = readSigned(pem);
  assert.deepEqual(Buffer.from(read.subject), Buffer.from(subject));
  assert.equal(read.subjectName.fields.common_name, 'a.test');
  assert.deepEqual(Buffer.from(read.subjectPublicKeyInfo), Buffer.from(subjectPublicKeyInfo));
  assert.deepEqual(
    read.extensions.map((extension) => [extension.oid, extension.critical]),
    [
      ['2.5.29.19', true],
      ['2.5.29.17', false],
    ],
  );
  assert.deepEqual(read.subjectAltNames?.dns, ['a.test', 'b.test']);
  assert.deepEqual(read.subjectAltNames?.ip, ['192.0.2.1']);
  assert.deepEqual(read.otherAttributes, []);
});

test('a request without extensions has an empty set of attributes, not none', () => {
  const encoded = encodeCsrInfo({ ...info, extensions: [] });
  assert.deepEqual(Buffer.from(encoded.subarray(-2)), Buffer.of(0xa0, 0));
  const read = readSigned(signInfo(encoded));
  assert.deepEqual(read.extensions, []);
  assert.equal(read.subjectAltNames, undefined);
});

const keys: [
  name: string,
  keys: { publicKey: KeyObject; privateKey: KeyObject },
  SignatureAlgorithm,
][] = [
  ['P-224', generateKeyPairSync('ec', { namedCurve: 'secp224r1' }), 'ECDSAWithSHA256'],
  ['P-384', generateKeyPairSync('ec', { namedCurve: 'P-384' }), 'ECDSAWithSHA384'],
  ['P-521', generateKeyPairSync('ec', { namedCurve: 'P-521' }), 'ECDSAWithSHA512'],
  ['Ed25519', generateKeyPairSync('ed25519'), 'PureEd25519'],
];

for (const [name, pair, algorithm] of keys) {
  test(`a request signed by its ${name} key is accepted, by another ${name} key not`, async () => {
    const own = { ...info, subjectPublicKeyInfo: publicKeyInfo(pair.publicKey) };
    const signed = signInfo(encodeCsrInfo(own), pair.privateKey, algorithm);
    assert.equal(isCsrSignatureValid(parseCsr(signed)), true);
    assert.equal(await verifyCsrSignature(parseCsr(signed)), true);
    const other =
      name === 'Ed25519'
        ? generateKeyPairSync('ed25519')
        : generateKeyPairSync('ec', { namedCurve: name === 'P-224' ? 'secp224r1' : name });
    const forged = signInfo(encodeCsrInfo(own), other.privateKey, algorithm);
    assert.equal(isCsrSignatureValid(parseCsr(forged)), false);
    assert.equal(await verifyCsrSignature(parseCsr(forged)), false);
  });
}

test('a request that was changed after signing is refused as such', () => {
  const changed = csr.slice();
  const at = Buffer.from(changed).indexOf('b.test');
  changed[at] = 'c'.charCodeAt(0);
  assert.equal(isCsrSignatureValid(parseCsr(changed)), false);
});

test('a signature by an algorithm that is not verified is no signature', () => {
  const encoded = encodeCsrInfo(info);
  const sha1 = sequence(oid('1.2.840.10045.4.1'));
  const read = parseCsr(sequence(encoded, sha1, bitString(new Uint8Array(70))));
  assert.equal(isCsrSignatureValid(read), false);
});

const attribute = (id: string, ...values: Uint8Array[]): Uint8Array =>
  sequence(oid(id), setOf(...values));
const withAttributes = (...attributes: Uint8Array[]): Uint8Array =>
  signInfo(
    sequence(integer(0), subject, subjectPublicKeyInfo, contextConstructed(0, ...attributes)),
  );
const challenge = attribute('1.2.840.113549.1.9.7', directoryString('secret'));
const request = attribute('1.2.840.113549.1.9.14', encodeExtensions(extensions));

test('other attributes are named, and change nothing', () => {
  const read = readSigned(withAttributes(challenge, request));
  assert.deepEqual(read.otherAttributes, ['1.2.840.113549.1.9.7']);
  assert.equal(read.extensions.length, 2);
});

test('a request whose attributes were left out altogether is read', () => {
  const read = readSigned(signInfo(sequence(integer(0), subject, subjectPublicKeyInfo)));
  assert.deepEqual(read.extensions, []);
});

const texts: [text: string, phrase: string | undefined, why: string][] = [
  [pem.replaceAll('CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST'), undefined, 'the older label'],
  [`${encodePem('EC PRIVATE KEY', Uint8Array.of(1))}\n${pem}`, undefined, 'a key before it'],
  ['', 'csr contains no data', 'an empty text'],
  ['MIIB', 'csr contains no data', 'bare base64'],
  [pem.slice(0, -10), 'csr contains no data', 'a block cut short'],
  [pem.replace('M', '!'), 'csr contains no data', 'a block that is not base64'],
  [encodePem('CERTIFICATE', csr), 'certificate request could not be parsed', 'another label'],
  [`${pem}\n${pem}`, 'certificate request could not be parsed', 'two requests'],
  [
    encodePem('CERTIFICATE REQUEST', Uint8Array.of(1, 2, 3)),
    'certificate request could not be parsed',
    'bytes that are no DER',
  ],
];

for (const [text, phrase, why] of texts) {
  test(`PEM with ${why} is ${phrase === undefined ? 'read' : `refused: ${phrase}`}`, () => {
    if (phrase === undefined) {
      parseCsr(text);
      return;
    }
    assert.throws(
      () => parseCsr(text),
      (error) =>
        error instanceof Failure && error.kind === 'invalid' && error.message.startsWith(phrase),
    );
  });
}

const unparseable: [der: Uint8Array, why: string][] = [
  [
    signInfo(sequence(integer(1), subject, subjectPublicKeyInfo, contextConstructed(0))),
    'version 2',
  ],
  [withAttributes(request, request), 'two lists of extensions'],
  [
    withAttributes(
      attribute('1.2.840.113549.1.9.14', encodeExtensions(extensions), encodeExtensions([])),
    ),
    'a list with two values',
  ],
  [withAttributes(attribute('1.2.840.113549.1.9.14')), 'a list without a value'],
  [
    withAttributes(
      attribute('1.2.840.113549.1.9.14', encodeExtensions([...extensions, ...extensions])),
    ),
    'an extension that comes twice',
  ],
  [
    withAttributes(
      attribute(
        '1.2.840.113549.1.9.14',
        encodeExtensions([
          { oid: '2.5.29.17', critical: false, value: octetString(Uint8Array.of(1)) },
        ]),
      ),
    ),
    'a subjectAltName that is none',
  ],
  [sequence(encodeCsrInfo(info), algorithmIdentifier('ECDSAWithSHA256')), 'no signature'],
  [
    sequence(
      encodeCsrInfo(info),
      algorithmIdentifier('ECDSAWithSHA256'),
      bitString(Uint8Array.of(1)),
      nullValue(),
    ),
    'something after the signature',
  ],
  [Buffer.concat([csr, Uint8Array.of(0)]), 'a byte after the end'],
  [csr.subarray(0, -1), 'its last byte missing'],
  [withAttributes(attribute('1.2.3', octetString(new Uint8Array(129 << 10)))), 'more than 128 KiB'],
];

for (const [der, why] of unparseable) {
  test(`a request with ${why} could not be parsed`, () => {
    assert.throws(
      () => parseCsr(der),
      (error) =>
        error instanceof Failure &&
        error.kind === 'invalid' &&
        error.message.startsWith('certificate request could not be parsed: '),
    );
  });
}
