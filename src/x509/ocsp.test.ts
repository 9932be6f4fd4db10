import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';

import { encodeOcspRequest } from '../../test/support/ocsp-request.ts';
import { Failure } from '../core/failure.ts';
import { hashIdentifier } from './algorithm-facts.ts';
import {
  contextConstructed,
  directoryString,
  generalizedTime,
  integer,
  octetString,
  oid,
  sequence,
  setOf,
  tlv,
} from './der.ts';
import { publicKeyInfo } from './keys.ts';
import {
  assembleOcspResponse,
  type BasicResponse,
  certIdHashes,
  decodeOcspPath,
  encodeResponseData,
  OCSP_ERRORS,
  type OcspHash,
  parseOcspRequest,
} from './ocsp.ts';

const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const subjectPublicKeyInfo = publicKeyInfo(publicKey);
const issuer = sequence(setOf(sequence(oid('2.5.4.3'), directoryString('OCSP test'))));
const serialNumber = Uint8Array.of(0x9a, 1, 2, 3);
const asked = { issuer, subjectPublicKeyInfo, serialNumber };
const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('hex');

const hashes: OcspHash[] = ['sha1', 'sha256', 'sha384', 'sha512'];
for (const hash of hashes) {
  test(`a request with a ${hash} CertID reads back`, () => {
    const { certId, nonce } = parseOcspRequest(encodeOcspRequest({ ...asked, hash }));
    const expected = certIdHashes(issuer, subjectPublicKeyInfo, hash);
    assert.equal(certId.hashAlgorithm, hash);
    assert.equal(hex(certId.issuerNameHash), hex(expected.issuerNameHash));
    assert.equal(hex(certId.issuerKeyHash), hex(expected.issuerKeyHash));
    assert.equal(hex(certId.serialNumber), hex(serialNumber));
    assert.equal(nonce, undefined);
  });
}

test('the key hash is over the bytes of the BIT STRING, without its count of unused bits', () => {
  // The point is the last 65 bytes of a P-256 SubjectPublicKeyInfo.
  const point = subjectPublicKeyInfo.subarray(-65);
  assert.equal(
    hex(certIdHashes(issuer, subjectPublicKeyInfo, 'sha1').issuerKeyHash),
    createHash('sha1').update(point).digest('hex'),
  );
});

const certIdOf = (hash: Uint8Array, name: number, key: number, serial = integer(5)): Uint8Array =>
  sequence(hash, octetString(new Uint8Array(name)), octetString(new Uint8Array(key)), serial);
const sha1 = hashIdentifier('sha1');
const good = certIdOf(sha1, 20, 20);
const extension = (value: Uint8Array, id = '1.3.6.1.5.5.7.48.1.2'): Uint8Array =>
  sequence(oid(id), octetString(value));
const withExtensions = (...extensions: Uint8Array[]): Uint8Array =>
  sequence(sequence(sequence(sequence(good)), contextConstructed(2, sequence(...extensions))));

/** A request padded to a length beyond 1900 bytes. */
const requestOf = (length: number): Uint8Array => {
  const padded = (size: number) => withExtensions(extension(new Uint8Array(size), '1.2.3'));
  return padded(1900 + length - padded(1900).length);
};

const readable: [request: Uint8Array, why: string][] = [
  [
    sequence(sequence(sequence(sequence(certIdOf(sequence(oid('1.3.14.3.2.26')), 20, 20))))),
    'a hash without parameters',
  ],
  [
    sequence(sequence(contextConstructed(0, integer(0)), sequence(sequence(good)))),
    'the version spelt out',
  ],
  [
    sequence(
      sequence(contextConstructed(1, tlv(0x82, Buffer.from('a'))), sequence(sequence(good))),
    ),
    'a requestor name',
  ],
  [sequence(sequence(sequence(sequence(good))), contextConstructed(0, sequence())), 'a signature'],
  [
    sequence(sequence(sequence(sequence(good), sequence(certIdOf(sha1, 0, 0))))),
    'a second question',
  ],
  [
    sequence(sequence(sequence(sequence(good, contextConstructed(0, sequence()))))),
    'extensions of the question',
  ],
  [withExtensions(extension(Uint8Array.of(5, 0), '1.2.3')), 'another extension'],
  [requestOf(2047), '2047 bytes'],
];

for (const [request, why] of readable) {
  test(`a request with ${why} is read as its first CertID`, () => {
    const { certId, nonce } = parseOcspRequest(request);
    assert.equal(hex(certId.serialNumber), '05');
    assert.equal(nonce, undefined);
  });
}

const malformed: [request: Uint8Array, why: string][] = [
  [new Uint8Array(0), 'nothing'],
  [Buffer.from('garbage'), 'garbage'],
  [sequence(sequence(sequence())), 'no question'],
  [
    sequence(sequence(contextConstructed(0, integer(1)), sequence(sequence(good)))),
    'another version',
  ],
  [
    sequence(sequence(sequence(sequence(certIdOf(hashIdentifier('sha256'), 20, 32))))),
    'a name hash of another length',
  ],
  [sequence(sequence(sequence(sequence(certIdOf(sha1, 20, 21))))), 'a key hash of another length'],
  [
    sequence(sequence(sequence(sequence(certIdOf(sequence(oid('1.2.840.113549.2.5')), 16, 16))))),
    'an MD5 CertID',
  ],
  [
    sequence(sequence(sequence(sequence(certIdOf(sha1, 20, 20, integer(-1)))))),
    'a negative serial number',
  ],
  [
    Buffer.concat([sequence(sequence(sequence(sequence(good)))), Buffer.of(0)]),
    'a byte after the end',
  ],
  [withExtensions(extension(octetString(new Uint8Array(0)))), 'an empty nonce'],
  [withExtensions(extension(new Uint8Array(0))), 'an empty bare nonce'],
  [withExtensions(extension(octetString(new Uint8Array(129)))), 'a nonce of 129 bytes'],
  [
    withExtensions(
      extension(octetString(new Uint8Array(16))),
      extension(octetString(new Uint8Array(16))),
    ),
    'two nonces',
  ],
  [requestOf(2048), '2048 bytes'],
];

for (const [request, why] of malformed) {
  test(`a request with ${why} is malformed`, () => {
    assert.throws(
      () => parseOcspRequest(request),
      (error) => error instanceof Failure && error.kind === 'invalid',
    );
  });
}

for (const length of [1, 16, 32, 127, 128]) {
  test(`a nonce of ${length} bytes is repeated as it came`, () => {
    const nonce = new Uint8Array(length).fill(7);
    const request = parseOcspRequest(encodeOcspRequest({ ...asked, hash: 'sha1', nonce }));
    assert.equal(hex(request.nonce), hex(octetString(nonce)));
    assert.ok(request.nonce);
    const data = encodeResponseData({ ...response, nonce: request.nonce });
    assert.ok(hex(data).includes(hex(extension(octetString(nonce)))));
  });
}

test('a bare nonce, as clients before RFC 8954 send it, is repeated as it came', () => {
  const nonce = Uint8Array.of(4, 9, 1, 2, 3);
  assert.equal(hex(parseOcspRequest(withExtensions(extension(nonce))).nonce), hex(nonce));
});

const response: BasicResponse = {
  responder: issuer,
  producedAt: 1_800_000_000,
  certId: good,
  status: { status: 'good' },
  thisUpdate: 1_800_000_000,
  nextUpdate: 1_800_043_200,
};
const now = generalizedTime(1_800_000_000);
const later = contextConstructed(0, generalizedTime(1_800_043_200));
const around = (...single: Uint8Array[]): string =>
  hex(sequence(contextConstructed(1, issuer), now, sequence(sequence(good, ...single))));

const statuses: [part: Partial<BasicResponse>, expected: string, why: string][] = [
  [{}, around(Uint8Array.of(0x80, 0), now, later), 'good'],
  [{ status: { status: 'unknown' } }, around(Uint8Array.of(0x82, 0), now, later), 'unknown'],
  [
    { status: { status: 'revoked', revocationTime: 1_800_000_000 } },
    around(contextConstructed(1, now), now, later),
    'revoked without a reason',
  ],
  [
    { status: { status: 'revoked', revocationTime: 1_800_000_000, reason: 0 } },
    around(contextConstructed(1, now), now, later),
    'revoked for an unspecified reason',
  ],
  [
    { status: { status: 'revoked', revocationTime: 1_800_000_000, reason: 1 } },
    around(contextConstructed(1, now, Uint8Array.of(0xa0, 3, 0x0a, 1, 1)), now, later),
    'revoked for a reason',
  ],
];

for (const [part, expected, why] of statuses) {
  test(`response data says ${why}`, () => {
    assert.equal(hex(encodeResponseData({ ...response, ...part })), expected);
  });
}

test('without a next update the response has none', () => {
  const { nextUpdate: _, ...open } = response;
  assert.equal(hex(encodeResponseData(open)), around(Uint8Array.of(0x80, 0), now));
});

test('a response is wrapped as id-pkix-ocsp-basic with status successful', () => {
  const data = encodeResponseData(response);
  const whole = hex(assembleOcspResponse(data, 'PureEd25519', new Uint8Array(64)));
  assert.match(whole, /^3081f60a0100a081f03081ed06092b06010505073001010481df3081dc/);
  assert.ok(whole.endsWith(`${hex(data)}300506032b6570034100${'00'.repeat(64)}`));
});

test('error answers have their status and nothing else', () => {
  assert.deepEqual(
    Object.entries(OCSP_ERRORS).map(([name, der]) => [name, hex(der)]),
    [
      ['malformedRequest', '30030a0101'],
      ['internalError', '30030a0102'],
      ['tryLater', '30030a0103'],
      ['sigRequired', '30030a0105'],
      ['unauthorized', '30030a0106'],
    ],
  );
});

const paths: [text: string, bytes: string | false, why: string][] = [
  ['MAMCAQU=', '3003020105', 'padded'],
  ['MAMCAQU', '3003020105', 'without padding'],
  ['MAT//+++', '3004ffffefbe', 'slashes and plus signs'],
  ['MAT__---', '3004ffffefbe', 'the URL alphabet'],
  ['', false, 'an empty path'],
  ['MAM%3D', false, 'an escape that was not undone'],
  ['MAM CAQU', false, 'a blank'],
  ['MA==MA', false, 'padding in the middle'],
  ['A'.repeat(2048), false, 'text of 2048 characters'],
];

for (const [text, bytes, why] of paths) {
  test(`a request in a path: ${why} is ${bytes === false ? 'refused' : 'read'}`, () => {
    if (bytes === false) assert.throws(() => decodeOcspPath(text), Failure);
    else assert.equal(hex(decodeOcspPath(text)), bytes);
  });
}
