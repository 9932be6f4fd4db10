/** Well-formed inputs to damage, the same bytes in every run. */

import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { encodePem } from '../../src/core/pem.ts';
import { signSync } from '../../src/x509/algorithms.ts';
import { assembleSigned, encodeTbsCertificate } from '../../src/x509/certificate.ts';
import { certificatePolicies } from '../../src/x509/certificate-policies.ts';
import { encodeCsrInfo } from '../../src/x509/csr.ts';
import {
  bitString,
  contextConstructed,
  directoryString,
  integer,
  nullValue,
  oid,
  sequence,
  setOf,
  unsignedInteger,
} from '../../src/x509/der.ts';
import {
  authorityInfoAccess,
  crlDistributionPoints,
  freshestCrl,
} from '../../src/x509/extension-urls.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  type Extension,
  encodeExtensions,
  subjectAltName,
  subjectKeyIdentifier,
} from '../../src/x509/extensions.ts';
import { extKeyUsage, keyUsage } from '../../src/x509/key-usages.ts';
import { keyIdentifier, publicKeyInfo } from '../../src/x509/keys.ts';
import { nameConstraints } from '../../src/x509/name-constraints.ts';
import { encodeSubject } from '../../src/x509/names.ts';
import { encodePrivateKey } from '../../src/x509/private-keys.ts';
import { encodeTbsCertList } from '../support/crl.ts';
import { directoryConstraints, directoryName } from '../support/directory-names.ts';
import { makeAuthority } from '../support/made-authorities.ts';
import { encodeOcspRequest } from '../support/ocsp-request.ts';
import { Dice } from './mutate.ts';

const NOW = 1_800_000_000;
const dice = new Dice(4711);
const someBytes = (length: number): Uint8Array => Uint8Array.from({ length }, () => dice.roll(256));

// Ed25519 signatures follow from key and message alone, so the corpus is the same each time.
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');
const issuerKey = createPrivateKey({
  key: Buffer.concat([PKCS8_ED25519, someBytes(32)]),
  format: 'der',
  type: 'pkcs8',
});
// A key for tests only; everybody knows it.
const ecKey = createPrivateKey(`-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgmylahJJ/t+B2uOgY
BH4dhuzUaqvXvnGPAKVaSxLDT5uhRANCAARM35oOGFiuAtOJiakZyZJL9/RUhl2d
DM3/hF7cGLaPKPRpfx8oqIqarXERPbxrMXkaQOeoEdRM+QV8hgc5z/HO
-----END PRIVATE KEY-----`);

/** An RSA public key by its looks; nobody has the factors. */
function rsaPublicKeyInfo(): Uint8Array {
  const modulus = someBytes(256);
  modulus[0] = 0xc5;
  modulus[255] = 0x0b;
  return sequence(
    sequence(oid('1.2.840.113549.1.1.1'), nullValue()),
    bitString(sequence(unsignedInteger(modulus), integer(65_537))),
  );
}

const infoOf = (key: KeyObject): Uint8Array => publicKeyInfo(createPublicKey(key));
/** SubjectPublicKeyInfo that signed whatever here is signed. */
export const ISSUER_KEY = infoOf(issuerKey);
const PKCS8_ML_DSA_44 = Buffer.from('3034020100300b060960864801650304031104228020', 'hex');
/** Seeds of ML-DSA make the same keys each time (RFC 9881 §6). */
const mlDsaKey = createPrivateKey({
  key: Buffer.concat([PKCS8_ML_DSA_44, Buffer.alloc(32, 9)]),
  format: 'der',
  type: 'pkcs8',
});
/** Two hashes, of whatever: a key of SLH-DSA-SHA2-128s. */
const slhDsaInfo = sequence(
  sequence(oid('2.16.840.1.101.3.4.3.20')),
  bitString(Buffer.alloc(32, 9)),
);
const SUBJECT_KEYS = [infoOf(ecKey), rsaPublicKeyInfo(), ISSUER_KEY, infoOf(mlDsaKey), slhDsaInfo];

export const ISSUER = encodeSubject({ organization: ['Fuzz'], common_name: 'Issuer' });
export const SUBJECT = encodeSubject({
  country: ['CH'],
  organization: ['Æther', 'Acme'],
  ou: ['a', 'b'],
  common_name: 'a.test',
  serial_number: '12',
  user_ids: ['me'],
});

const sign = (tbs: Uint8Array): Uint8Array =>
  assembleSigned(tbs, 'PureEd25519', signSync(issuerKey, 'PureEd25519', tbs));

const present = (extension: Extension | undefined): Extension[] => (extension ? [extension] : []);

const altNames = subjectAltName(
  {
    dns: ['a.test', '*.b.test'],
    email: ['me@a.test'],
    ip: ['192.0.2.1', '2001:db8::1'],
    uri: ['https://a.test/x'],
    other: [{ oid: '1.3.6.1.4.1.311.20.2.3', value: 'me@a.test' }],
  },
  false,
);

const LEAF_EXTENSIONS: Extension[] = [
  ...present(keyUsage(['DigitalSignature', 'KeyAgreement'])),
  ...present(extKeyUsage(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'])),
  subjectKeyIdentifier(keyIdentifier(ISSUER_KEY)),
  authorityKeyIdentifier(keyIdentifier(ISSUER_KEY)),
  ...present(authorityInfoAccess({ ocsp: ['http://o.test'], caIssuers: ['http://i.test/ca'] })),
  altNames,
  ...present(certificatePolicies([{ oid: '1.2.3', cps: 'https://p.test', notice: 'hello' }])),
  ...present(crlDistributionPoints(['http://c.test/a', 'http://c.test/b'])),
  ...present(freshestCrl(['http://c.test/delta'])),
];

const CA_EXTENSIONS: Extension[] = [
  ...present(keyUsage(['CertSign', 'CRLSign'])),
  basicConstraints({ ca: true, pathLength: 1 }),
  ...present(
    nameConstraints({
      permitted_dns_domains: ['a.test', '.b.test'],
      excluded_ip_ranges: ['10.0.0.0/8'],
      permitted_email_addresses: ['a.test'],
      permitted_uri_domains: ['.a.test'],
    }),
  ),
];

function certificate(
  subjectPublicKeyInfo: Uint8Array,
  extensions: Extension[],
  subject = SUBJECT,
): Uint8Array {
  return sign(
    encodeTbsCertificate({
      serialNumber: someBytes(20),
      signatureAlgorithm: 'PureEd25519',
      issuer: ISSUER,
      notBefore: NOW,
      notAfter: NOW + 86_400,
      subject,
      subjectPublicKeyInfo,
      extensions,
    }),
  );
}

export const certificates: Uint8Array[] = SUBJECT_KEYS.flatMap((key) => [
  certificate(key, LEAF_EXTENSIONS),
  certificate(key, CA_EXTENSIONS),
]);

/** Values of nameConstraints that have directory names, by which the subject of the others is let in. */
export const directorySubtrees: Uint8Array[] = [
  directoryConstraints([SUBJECT, directoryName()], [ISSUER]).value,
  directoryConstraints(
    [
      directoryName(
        [['C', 'ch']],
        [
          ['O', 'acme'],
          ['O', 'Æther'],
        ],
      ),
    ],
    [directoryName([['bits', 'a']], [['CN', 'o\u0308\u0316 \u00ad']])],
  ).value,
];

/** Of authorities that have signed themselves. */
export const selfIssued: Uint8Array[] = SUBJECT_KEYS.flatMap((key) => [
  certificate(key, CA_EXTENSIONS, ISSUER),
  certificate(key, [...CA_EXTENSIONS, ...LEAF_EXTENSIONS.slice(1)], ISSUER),
]);

const challenge = sequence(oid('1.2.840.113549.1.9.7'), setOf(directoryString('secret')));
const extensionRequest = sequence(
  oid('1.2.840.113549.1.9.14'),
  setOf(encodeExtensions([altNames])),
);

export const requests: Uint8Array[] = [
  ...SUBJECT_KEYS.map((subjectPublicKeyInfo) =>
    sign(encodeCsrInfo({ subject: SUBJECT, subjectPublicKeyInfo, extensions: LEAF_EXTENSIONS })),
  ),
  sign(encodeCsrInfo({ subject: SUBJECT, subjectPublicKeyInfo: ISSUER_KEY, extensions: [] })),
  sign(
    sequence(integer(0), SUBJECT, ISSUER_KEY, contextConstructed(0, challenge, extensionRequest)),
  ),
];

function revokedList(count: number, deltaBase?: bigint): Uint8Array {
  return sign(
    encodeTbsCertList({
      issuer: ISSUER,
      signatureAlgorithm: 'PureEd25519',
      thisUpdate: NOW,
      nextUpdate: NOW + 3600,
      entries: Array.from({ length: count }, (_, i) => ({
        serialNumber: someBytes(20),
        revocationTime: NOW - i * 12_345_678,
        ...(i % 3 === 0 ? { reason: 1 } : {}),
        ...(i % 5 === 0
          ? { extensions: [{ oid: '1.2.3', critical: false, value: nullValue() }] }
          : {}),
      })),
      crlNumber: 7n,
      authorityKeyId: keyIdentifier(ISSUER_KEY),
      ...(deltaBase === undefined ? {} : { deltaBase }),
    }),
  );
}

export const revokedLists: Uint8Array[] = [revokedList(0), revokedList(10), revokedList(3, 5n)];

const question = { issuer: ISSUER, subjectPublicKeyInfo: ISSUER_KEY, serialNumber: someBytes(20) };

export const ocspRequests: Uint8Array[] = [
  encodeOcspRequest({ ...question, hash: 'sha1' }),
  encodeOcspRequest({ ...question, hash: 'sha1', nonce: someBytes(32) }),
  encodeOcspRequest({ ...question, hash: 'sha512', nonce: someBytes(1) }),
];

const toBytes = (text: string): Uint8Array => new TextEncoder().encode(text);

export const ocspPaths: Uint8Array[] = ocspRequests.flatMap((der) => [
  toBytes(Buffer.from(der).toString('base64')),
  toBytes(Buffer.from(der).toString('base64url')),
]);

function keyPem(key: KeyObject, form: 'traditional' | 'pkcs8'): string {
  const { label, der } = encodePrivateKey(key, form);
  return encodePem(label, der);
}

const example = (form: string): string =>
  readFileSync(new URL(`../vectors/rfc-9881/ML-DSA-44-${form}.priv`, import.meta.url), 'utf8');
const keyTexts = [
  keyPem(ecKey, 'traditional'),
  keyPem(ecKey, 'pkcs8'),
  keyPem(issuerKey, 'pkcs8'),
  keyPem(mlDsaKey, 'pkcs8'),
  example('expanded'),
  example('both'),
];
export const privateKeys: Uint8Array[] = keyTexts.map(toBytes);

export const bundles: Uint8Array[] = [
  certificates.map((der) => `Subject: a\n${encodePem('CERTIFICATE', der)}\n`).join(''),
  [keyTexts[0], encodePem('CERTIFICATE', certificates[0] ?? ISSUER)].join('\n'),
  requests.map((der) => encodePem('CERTIFICATE REQUEST', der)).join('\r\n'),
  encodePem('X509 CRL', revokedLists[1] ?? ISSUER, { trailingNewline: true }),
].map(toBytes);

const authorities = ['A', 'B'].map((name) => makeAuthority(name));
export const imports: Uint8Array[] = [
  ...authorities.map(({ pem, keyPem: key }) => pem + key),
  authorities.map(({ pem, keyPem: key }) => `${key}a note\n${pem}`).join(''),
  `${encodePem('EC PARAMETERS', someBytes(10))}\n${keyTexts[0]}\n${authorities[0]?.pem}`,
].map(toBytes);
