import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import {
  encodeTbsCertList,
  isCrlSignedBy,
  parseCrl,
  type TbsCertList,
} from '../../test/support/crl.ts';
import { algorithmIdentifier, signSync } from './algorithms.ts';
import { assembleSigned } from './certificate.ts';
import { bitString, contextConstructed, integer, sequence, time, unsignedInteger } from './der.ts';
import { DerError } from './der-reader.ts';
import { encodeExtensions } from './extensions.ts';
import { keyIdentifier, publicKeyInfo } from './keys.ts';
import { encodeSubject } from './names.ts';
import { RevokedEntriesWriter, type RevokedEntry } from './revoked-certificates.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const issuerKey = publicKeyInfo(publicKey);
const NOW = 1_800_000_000;
const entries: RevokedEntry[] = [
  { serialNumber: Uint8Array.of(1), revocationTime: NOW - 1000 },
  { serialNumber: Uint8Array.of(0xff, 2), revocationTime: NOW - 500, reason: 1 },
];
const tbs: TbsCertList = {
  issuer: encodeSubject({ common_name: 'CRL test' }),
  signatureAlgorithm: 'PureEd25519',
  thisUpdate: NOW,
  nextUpdate: NOW + 3600,
  entries,
  crlNumber: 7n,
  authorityKeyId: keyIdentifier(issuerKey),
};

const signTbs = (tbs: Uint8Array): Uint8Array =>
  assembleSigned(tbs, 'PureEd25519', signSync(privateKey, 'PureEd25519', tbs));
const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('hex');

test('a complete CRL reads back as written', () => {
  const crl = parseCrl(signTbs(encodeTbsCertList(tbs)));
  assert.equal(hex(crl.issuer), hex(tbs.issuer));
  assert.equal(crl.thisUpdate, NOW);
  assert.equal(crl.nextUpdate, NOW + 3600);
  assert.equal(crl.crlNumber, 7n);
  assert.equal(crl.deltaBase, undefined);
  assert.equal(hex(crl.authorityKeyId), hex(tbs.authorityKeyId));
  assert.deepEqual(
    [...crl.entries()].map((entry) => [
      hex(entry.serialNumber),
      entry.revocationTime,
      entry.reason,
    ]),
    [
      ['01', NOW - 1000, undefined],
      ['ff02', NOW - 500, 1],
    ],
  );
});

test('a delta CRL says critically on which CRL it builds', () => {
  const crl = parseCrl(signTbs(encodeTbsCertList({ ...tbs, deltaBase: 5n })));
  assert.equal(crl.deltaBase, 5n);
  assert.deepEqual(
    crl.extensions.map(({ oid, critical }) => [oid, critical]),
    [
      ['2.5.29.35', false],
      ['2.5.29.20', false],
      ['2.5.29.27', true],
    ],
  );
});

test('other extensions come after ours', () => {
  const extra = { oid: '1.2.3.4', critical: false, value: Uint8Array.of(5, 0) };
  const crl = parseCrl(signTbs(encodeTbsCertList({ ...tbs, extensions: [extra] })));
  assert.deepEqual(
    crl.extensions.map(({ oid }) => oid),
    ['2.5.29.35', '2.5.29.20', '1.2.3.4'],
  );
});

test('an empty CRL has no revokedCertificates at all', () => {
  const empty = encodeTbsCertList({ ...tbs, entries: [] });
  assert.deepEqual([...parseCrl(signTbs(empty)).entries()], []);
  const times = hex(time(NOW)) + hex(time(NOW + 3600));
  assert.ok(hex(empty).includes(`${times}a0`));
});

test('a writer and the entries themselves make the same CRL', () => {
  const writer = new RevokedEntriesWriter();
  for (const entry of entries) writer.append(entry);
  assert.equal(hex(encodeTbsCertList({ ...tbs, entries: writer })), hex(encodeTbsCertList(tbs)));
});

test('entries are read as often as they are asked for, and extensions of theirs kept', () => {
  const invalidityDate = { oid: '2.5.29.24', critical: false, value: Uint8Array.of(5, 0) };
  const [first] = entries;
  assert.ok(first);
  const entry = { ...first, reason: 4, extensions: [invalidityDate] };
  const crl = parseCrl(signTbs(encodeTbsCertList({ ...tbs, entries: [entry] })));
  for (const again of [crl.entries(), crl.entries()]) {
    const [read] = again;
    assert.equal(read?.reason, 4);
    assert.deepEqual(
      read?.extensions?.map(({ oid }) => oid),
      ['2.5.29.24'],
    );
  }
});

test('a CRL is signed by its issuer, and neither by another key nor after a change', () => {
  const signed = signTbs(encodeTbsCertList(tbs));
  assert.equal(isCrlSignedBy(parseCrl(signed), issuerKey), true);
  const other = publicKeyInfo(generateKeyPairSync('ed25519').publicKey);
  assert.equal(isCrlSignedBy(parseCrl(signed), other), false);
  const changed = signed.slice();
  const at = Buffer.from(changed).indexOf('ff02', 'hex');
  changed[at + 1] = 3;
  assert.equal(isCrlSignedBy(parseCrl(changed), issuerKey), false);
});

const algorithm = algorithmIdentifier('PureEd25519');
const numbered = (value: Uint8Array): Uint8Array =>
  contextConstructed(0, encodeExtensions([{ oid: '2.5.29.20', critical: false, value }]));
const dates = [time(NOW), time(NOW + 1)];
const v2 = (...rest: Uint8Array[]): Uint8Array =>
  sequence(
    sequence(integer(1), algorithm, tbs.issuer, ...rest),
    algorithm,
    bitString(new Uint8Array(64)),
  );

test('a CRL of version 1, and one without a next update, are read', () => {
  const v1 = sequence(
    sequence(algorithm, tbs.issuer, ...dates),
    algorithm,
    bitString(new Uint8Array(64)),
  );
  assert.equal(parseCrl(v1).crlNumber, undefined);
  assert.equal(parseCrl(v2(time(NOW))).nextUpdate, undefined);
});

const malformed: [crl: Uint8Array, why: string][] = [
  [new Uint8Array(0), 'nothing'],
  [Buffer.concat([v2(...dates), Uint8Array.of(0)]), 'a byte after the end'],
  [
    sequence(
      sequence(integer(0), algorithm, tbs.issuer, ...dates),
      algorithm,
      bitString(new Uint8Array(64)),
    ),
    'version 1 said in so many words',
  ],
  [
    sequence(
      sequence(integer(2), algorithm, tbs.issuer, ...dates),
      algorithm,
      bitString(new Uint8Array(64)),
    ),
    'version 3',
  ],
  [
    sequence(
      sequence(algorithm, tbs.issuer, ...dates, numbered(integer(1))),
      algorithm,
      bitString(new Uint8Array(64)),
    ),
    'extensions in version 1',
  ],
  [
    sequence(
      sequence(integer(1), algorithmIdentifier('ECDSAWithSHA256'), tbs.issuer, ...dates),
      algorithm,
      bitString(new Uint8Array(64)),
    ),
    'two different algorithms',
  ],
  [v2(...dates, numbered(integer(-1))), 'a number below 0'],
  [v2(...dates, numbered(Uint8Array.of(5, 0))), 'a number that is none'],
  [v2(...dates, numbered(integer(1)), integer(1)), 'a field too many'],
];

for (const [crl, why] of malformed) {
  test(`a CRL with ${why} is refused`, () => {
    assert.throws(() => parseCrl(crl), DerError);
  });
}

const badEntries: [entry: Uint8Array, why: string][] = [
  [sequence(integer(-1), time(NOW)), 'a negative serial number'],
  [sequence(unsignedInteger(new Uint8Array(65).fill(1)), time(NOW)), 'a serial number of 65 bytes'],
  [sequence(integer(1)), 'no time'],
  [sequence(integer(1), time(NOW), sequence(), integer(1)), 'a field too many'],
  [integer(1), 'no sequence'],
];

for (const [entry, why] of badEntries) {
  test(`an entry with ${why} is refused when it is reached`, () => {
    const good = sequence(integer(1), time(NOW));
    const walk = parseCrl(v2(...dates, sequence(good, entry))).entries();
    assert.equal(hex(walk.next().value?.serialNumber), '01');
    assert.throws(() => walk.next(), DerError);
  });
}
