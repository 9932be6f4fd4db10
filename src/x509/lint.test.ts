import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import type { TbsCertificate } from './certificate.ts';
import { certificatePolicies } from './certificate-policies.ts';
import {
  contextConstructed,
  contextPrimitive,
  integer,
  octetString,
  oid,
  sequence,
} from './der.ts';
import { authorityInfoAccess, crlDistributionPoints, freshestCrl } from './extension-urls.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  type Extension,
  subjectAltName,
  subjectKeyIdentifier,
} from './extensions.ts';
import { extKeyUsage, keyUsage } from './key-usages.ts';
import { keyIdentifier, publicKeyInfo } from './keys.ts';
import { lintTbsCertificate } from './lint.ts';
import { nameConstraints } from './name-constraints.ts';
import { encodeSubject } from './names.ts';

const present = <T>(...values: (T | undefined)[]): T[] =>
  values.filter((value) => value !== undefined);
const info = publicKeyInfo(generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).publicKey);
const id = keyIdentifier(info);
const none = { dns: [], email: [], ip: [], uri: [], other: [] };
const issuer = encodeSubject({ common_name: 'Root' });

const leaf: TbsCertificate = {
  serialNumber: new Uint8Array(20).fill(0x7f),
  signatureAlgorithm: 'ECDSAWithSHA256',
  issuer,
  notBefore: 1_800_000_000,
  notAfter: 253_402_300_799,
  subject: encodeSubject({ common_name: 'a.test' }),
  subjectPublicKeyInfo: info,
  extensions: present(
    keyUsage(['DigitalSignature', 'KeyAgreement']),
    extKeyUsage(['1.3.6.1.5.5.7.3.1']),
    subjectKeyIdentifier(id),
    authorityKeyIdentifier(id),
    authorityInfoAccess({ ocsp: ['http://a.test/ocsp'], caIssuers: ['http://a.test/ca'] }),
    subjectAltName(
      {
        ...none,
        dns: ['a.test', '*.b.test', 'c.test.'],
        email: ['me@a.test'],
        ip: ['::1'],
        uri: ['spiffe://a/b'],
      },
      false,
    ),
    certificatePolicies([{ oid: '1.2.3', cps: 'https://a.test' }]),
    crlDistributionPoints(['http://a.test/crl']),
    freshestCrl(['http://a.test/delta']),
  ),
};
const root: TbsCertificate = {
  ...leaf,
  subject: issuer,
  extensions: present(
    keyUsage(['CertSign', 'CRLSign']),
    basicConstraints({ ca: true, pathLength: 0 }),
    subjectKeyIdentifier(id),
    authorityKeyIdentifier(id),
    nameConstraints({ permitted_dns_domains: ['a.test'] }),
  ),
};

const usagesOfSigningKeys: [usages: string[], sound: boolean][] = [
  [['DigitalSignature'], true],
  [['ContentCommitment', 'DigitalSignature'], true],
  [['KeyEncipherment'], false],
  [['DigitalSignature', 'DataEncipherment'], false],
  [['DigitalSignature', 'KeyAgreement'], false],
  [['DigitalSignature', 'EncipherOnly'], false],
  [['DigitalSignature', 'DecipherOnly'], false],
];
for (const [usages, sound] of usagesOfSigningKeys) {
  test(`keys that only sign ${sound ? 'may' : 'must not'} have the usages ${usages.join()} (RFC 9881 §5)`, () => {
    for (const type of ['ml-dsa-44', 'slh-dsa-sha2-128f'] as const) {
      const key = type === 'ml-dsa-44' ? generateKeyPairSync(type) : generateKeyPairSync(type);
      const tbs = {
        ...leaf,
        subjectPublicKeyInfo: publicKeyInfo(key.publicKey),
        ...swap(leaf, '2.5.29.15', keyUsage(usages)),
      };
      const problems = lintTbsCertificate(tbs);
      assert.equal(problems.length === 0, sound, problems.join());
      if (!sound) assert.match(problems.join(), /for a key that only signs/);
    }
  });
}

for (const [type, value, sound] of [
  ['2.5.29.16', sequence(), false],
  ['2.5.29.16', sequence(contextPrimitive(0, Buffer.from('20260101000000Z'))), true],
  ['2.5.29.18', sequence(), false],
  ['2.5.29.18', sequence(contextPrimitive(6, Buffer.from('https://a.test/'))), true],
  ['1.2.3.4', sequence(), true],
] as const) {
  test(`the extension ${type} of ${value.length} bytes ${sound ? 'passes' : 'is found empty'}`, () => {
    const problems = lintTbsCertificate({ ...leaf, ...add(leaf, raw(type, value)) });
    assert.equal(problems.join(), sound ? '' : `the extension ${type} must not be empty`);
  });
}

test('a leaf and a root as we make them have no problems', () => {
  assert.deepEqual(lintTbsCertificate(leaf), []);
  assert.deepEqual(lintTbsCertificate(root), []);
});

/** The extensions with one replaced or, for undefined, left out. */
function swap(
  tbs: TbsCertificate,
  type: string,
  by: Extension | undefined,
): Partial<TbsCertificate> {
  return { extensions: present(...tbs.extensions.filter((one) => one.oid !== type), by) };
}
const add = (tbs: TbsCertificate, ...more: (Extension | undefined)[]): Partial<TbsCertificate> => ({
  extensions: present(...tbs.extensions, ...more),
});
const names = (
  given: Partial<typeof none | Record<keyof typeof none, string[]>>,
): Partial<TbsCertificate> =>
  swap(leaf, '2.5.29.17', subjectAltName({ ...none, ...given, other: [] }, false));
const raw = (type: string, value: Uint8Array, critical = false): Extension => ({
  oid: type,
  critical,
  value,
});
const empty = sequence();
const longLabel = 'a'.repeat(64);

const cases: [
  what: string,
  tbs: TbsCertificate,
  change: Partial<TbsCertificate>,
  problem: RegExp | undefined,
][] = [
  [
    'a serial number of zero',
    leaf,
    { serialNumber: Uint8Array.of(0) },
    /serial number must be positive/,
  ],
  ['no serial number', leaf, { serialNumber: new Uint8Array(0) }, /serial number must be positive/],
  [
    'a serial number of 160 bits',
    leaf,
    { serialNumber: new Uint8Array(20).fill(0x80) },
    /more than 20 bytes/,
  ],
  [
    'a serial number of 21 bytes',
    leaf,
    { serialNumber: new Uint8Array(21).fill(1) },
    /more than 20 bytes/,
  ],
  ['an end before its beginning', leaf, { notAfter: leaf.notBefore - 1 }, /later than notAfter/],
  ['an end at its beginning', leaf, { notAfter: leaf.notBefore }, undefined],
  ['an end beyond the year 9999', leaf, { notAfter: 253_402_300_800 }, /notAfter must be/],
  ['half a second', leaf, { notBefore: 1.5 }, /notBefore must be/],
  ['no time', leaf, { notBefore: Number.NaN }, /notBefore must be/],
  ['no issuer', leaf, { issuer: empty }, /issuer must not be empty/],
  ['an issuer that is no name', leaf, { issuer: sequence(integer(1)) }, /^issuer: /],
  ['a subject that is no name', leaf, { subject: sequence(integer(1)) }, /^subject: /],
  [
    'no subject and names that are not critical',
    leaf,
    { subject: empty },
    /subjectAltName must be critical/,
  ],
  [
    'no subject and critical names',
    leaf,
    { subject: empty, ...swap(leaf, '2.5.29.17', subjectAltName({ ...none, dns: ['a'] }, true)) },
    undefined,
  ],
  [
    'neither subject nor names',
    leaf,
    { subject: empty, ...swap(leaf, '2.5.29.17', undefined) },
    /needs a subject/,
  ],
  ['no names but a subject', leaf, swap(leaf, '2.5.29.17', undefined), undefined],
  ['a CA without a subject', root, { subject: empty }, /subject of an authority/],
  ['a key that is none', leaf, { subjectPublicKeyInfo: empty }, /^subjectPublicKeyInfo: /],
  [
    'an extension twice',
    leaf,
    add(leaf, subjectKeyIdentifier(id)),
    /2\.5\.29\.14 must not come twice/,
  ],
  [
    'a critical key identifier',
    leaf,
    swap(leaf, '2.5.29.35', { ...authorityKeyIdentifier(id), critical: true }),
    /authorityKeyIdentifier must not be critical/,
  ],
  [
    'name constraints that are not critical',
    root,
    swap(
      root,
      '2.5.29.30',
      raw('2.5.29.30', nameConstraints({ permitted_dns_domains: ['a'] })?.value ?? empty),
    ),
    /nameConstraints must be critical/,
  ],
  [
    'name constraints on a leaf',
    leaf,
    add(leaf, nameConstraints({ permitted_dns_domains: ['a'] })),
    /for authorities only/,
  ],
  [
    'name constraints without subtrees',
    root,
    swap(root, '2.5.29.30', raw('2.5.29.30', empty, true)),
    /nameConstraints must not be empty/,
  ],
  [
    'name constraints with an empty side',
    root,
    swap(root, '2.5.29.30', raw('2.5.29.30', sequence(contextConstructed(0)), true)),
    /nameConstraints must not be empty/,
  ],
  [
    'no authority key identifier',
    leaf,
    swap(leaf, '2.5.29.35', undefined),
    /authorityKeyIdentifier must be there/,
  ],
  ['no authority key identifier on a root', root, swap(root, '2.5.29.35', undefined), undefined],
  [
    'no authority key identifier on an intermediate',
    root,
    { subject: leaf.subject, ...swap(root, '2.5.29.35', undefined) },
    /authorityKeyIdentifier must be there/,
  ],
  ['no subject key identifier', leaf, swap(leaf, '2.5.29.14', undefined), undefined],
  [
    'no subject key identifier on a CA',
    root,
    swap(root, '2.5.29.14', undefined),
    /subjectKeyIdentifier must be there/,
  ],
  [
    'basic constraints of a CA that are not critical',
    root,
    swap(root, '2.5.29.19', { ...basicConstraints({ ca: true }), critical: false }),
    /basicConstraints must be critical/,
  ],
  ['a CA without key usage', root, swap(root, '2.5.29.15', undefined), /keyUsage must be there/],
  [
    'a CA that only signs CRLs',
    root,
    { ...swap(root, '2.5.29.15', keyUsage(['CRLSign'])) },
    /path length needs/,
  ],
  [
    'a CA without limit that only signs CRLs',
    { ...root, ...swap(root, '2.5.29.19', basicConstraints({ ca: true })) },
    swap(
      { ...root, ...swap(root, '2.5.29.19', basicConstraints({ ca: true })) },
      '2.5.29.15',
      keyUsage(['CRLSign']),
    ),
    undefined,
  ],
  [
    'a leaf that signs certificates',
    leaf,
    swap(leaf, '2.5.29.15', keyUsage(['CertSign'])),
    /CertSign is for authorities only/,
  ],
  [
    'a leaf that old clients take for an authority',
    leaf,
    add(leaf, raw('2.16.840.1.113730.1.1', Buffer.from('03020006', 'hex'), false)),
    /Netscape's certificate type must not name an authority/,
  ],
  [
    'a leaf of an old type',
    leaf,
    add(leaf, raw('2.16.840.1.113730.1.1', Buffer.from('030206c0', 'hex'), false)),
    undefined,
  ],
  ['a leaf that says it is none', leaf, add(leaf, basicConstraints({ ca: false })), undefined],
  ['a leaf without key usage', leaf, swap(leaf, '2.5.29.15', undefined), undefined],
  [
    'a key usage of nothing',
    leaf,
    swap(leaf, '2.5.29.15', raw('2.5.29.15', Buffer.from('030100', 'hex'), true)),
    /at least one usage/,
  ],
  [
    'a key usage that is none',
    leaf,
    swap(leaf, '2.5.29.15', raw('2.5.29.15', integer(1), true)),
    /^keyUsage: /,
  ],
  [
    'a purpose twice',
    leaf,
    swap(leaf, '2.5.29.37', raw('2.5.29.37', sequence(oid('1.2.3'), oid('1.2.3')))),
    /purpose twice/,
  ],
  [
    'any purpose, critically',
    leaf,
    swap(leaf, '2.5.29.37', raw('2.5.29.37', sequence(oid('2.5.29.37.0')), true)),
    /must not be critical when/,
  ],
  [
    'some purpose, critically',
    leaf,
    swap(leaf, '2.5.29.37', raw('2.5.29.37', sequence(oid('1.2.3')), true)),
    undefined,
  ],
  ['a label of 63 characters', leaf, names({ dns: [`${longLabel.slice(1)}.test`] }), undefined],
  [
    'a label of 64 characters',
    leaf,
    names({ dns: [`${longLabel}.test`] }),
    /more than 63 characters/,
  ],
  [
    'a DNS name that is too long',
    leaf,
    names({ dns: [`${'a.'.repeat(130)}test`] }),
    /more than 253 characters/,
  ],
  ['an empty label', leaf, names({ dns: ['a..test'] }), /empty label/],
  ['a leading dot', leaf, names({ dns: ['.a.test'] }), /empty label/],
  ['a blank in a DNS name', leaf, names({ dns: ['a b.test'] }), /blanks/],
  ['an underscore in a DNS name', leaf, names({ dns: ['_a.test'] }), undefined],
  ['a mailbox without a host', leaf, names({ email: ['me@'] }), /no mailbox/],
  ['a mailbox without an @', leaf, names({ email: ['me'] }), /no mailbox/],
  ['a relative URI', leaf, names({ uri: ['/path'] }), /not absolute/],
  ['a URI with a blank', leaf, names({ uri: ['https://a b'] }), /not absolute/],
  [
    'names that cannot be read',
    leaf,
    swap(leaf, '2.5.29.17', raw('2.5.29.17', empty)),
    /^subjectAltName: /,
  ],
  [
    'a policy twice',
    leaf,
    swap(
      leaf,
      '2.5.29.32',
      raw('2.5.29.32', sequence(sequence(oid('1.2.3')), sequence(oid('1.2.3')))),
    ),
    /policy twice/,
  ],
  [
    'distribution points without points',
    leaf,
    swap(leaf, '2.5.29.31', raw('2.5.29.31', empty)),
    /must not be empty/,
  ],
  [
    'a distribution point that is no URL',
    leaf,
    swap(leaf, '2.5.29.31', crlDistributionPoints(['crl'])),
    /is no URL/,
  ],
  [
    'information access without locations',
    leaf,
    swap(leaf, '1.3.6.1.5.5.7.1.1', raw('1.3.6.1.5.5.7.1.1', empty)),
    /must not be empty/,
  ],
  [
    'an access location that is no URL',
    leaf,
    swap(leaf, '1.3.6.1.5.5.7.1.1', authorityInfoAccess({ ocsp: ['x'], caIssuers: [] })),
    /is no URL/,
  ],
  ['an unknown extension', leaf, add(leaf, raw('1.2.3', octetString(Uint8Array.of(1)))), undefined],
  [
    'an unknown extension that is not well formed',
    leaf,
    add(leaf, raw('1.2.3', contextPrimitive(0, empty).subarray(1))),
    /^the extension 1\.2\.3: /,
  ],
];
for (const [what, tbs, change, problem] of cases) {
  test(`${what} is ${problem ? 'a problem' : 'no problem'}`, () => {
    const found = lintTbsCertificate({ ...tbs, ...change });
    if (problem) assert.match(found.join('\n'), new RegExp(problem.source, 'm'));
    else assert.deepEqual(found, []);
  });
}
