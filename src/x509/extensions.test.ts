import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boolean,
  contextConstructed,
  contextPrimitive,
  integer,
  octetString,
  oid,
  sequence,
  tlv,
} from './der.ts';
import { readDer } from './der-reader.ts';
import {
  authorityInfoAccess,
  crlDistributionPoints,
  freshestCrl,
  parseAuthorityInfoAccess,
  parseDistributionPoints,
} from './extension-urls.ts';
import {
  authorityKeyIdentifier,
  basicConstraints,
  type Extension,
  encodeExtensions,
  findExtension,
  parseAuthorityKeyIdentifier,
  parseBasicConstraints,
  parseExtensions,
  parseSubjectKeyIdentifier,
  subjectAltName,
  subjectKeyIdentifier,
} from './extensions.ts';
import {
  extKeyUsage,
  extKeyUsageOids,
  keyUsage,
  parseExtKeyUsage,
  parseKeyUsage,
} from './key-usages.ts';

const refused = { kind: 'invalid' };
const hex = (bytes: Uint8Array | undefined): string | undefined =>
  bytes && Buffer.from(bytes).toString('hex');
const none = { dns: [], email: [], ip: [], uri: [], other: [] };

test('extensions keep their order, criticality and bytes', () => {
  const list: Extension[] = [
    { oid: '2.5.29.15', critical: true, value: Uint8Array.of(5, 0) },
    { oid: '1.2.3', critical: false, value: Uint8Array.of(1) },
  ];
  const read = parseExtensions(readDer(encodeExtensions(list)));
  assert.deepEqual(
    read.map((one) => ({ ...one, value: Uint8Array.from(one.value) })),
    list,
  );
  assert.equal(findExtension(read, '1.2.3'), read[1]);
  assert.equal(findExtension(read, '1.2.4'), undefined);
});

const extension = (type: string, ...parts: Uint8Array[]): Uint8Array =>
  sequence(oid(type), ...parts);
const value = octetString(new Uint8Array(1));
const lists: [what: string, der: Uint8Array, accepted: boolean][] = [
  ['a criticality of false written out', sequence(extension('1.2.3', boolean(false), value)), true],
  ['an extension twice', sequence(extension('1.2.3', value), extension('1.2.3', value)), false],
  ['an extension without a value', sequence(extension('1.2.3')), false],
  ['an extension with two values', sequence(extension('1.2.3', value, value)), false],
  ['a value that is no OCTET STRING', sequence(extension('1.2.3', integer(1))), false],
  [
    '101 extensions',
    sequence(...Array.from({ length: 101 }, (_, at) => extension(`1.2.${at}`, value))),
    false,
  ],
];
for (const [what, der, accepted] of lists) {
  test(`${what}: ${accepted ? 'accepted' : 'refused'}`, () => {
    if (accepted) assert.equal(parseExtensions(readDer(der))[0]?.critical, false);
    else assert.throws(() => parseExtensions(readDer(der)), refused);
  });
}

const usages: [names: string[], value: string | undefined][] = [
  [['DigitalSignature', 'KeyAgreement', 'KeyEncipherment'], '030203a8'],
  [[' certsign ', 'CRLSIGN'], '03020106'],
  [['DecipherOnly'], '0303070080'],
  [['EncipherOnly', 'KeyAgreement'], '03020009'],
  [['Unknown', 'ContentCommitment'], '03020640'],
  [['Unknown'], undefined],
  [[], undefined],
];
for (const [names, expected] of usages) {
  test(`keyUsage of ${JSON.stringify(names)} is ${expected ?? 'absent'}`, () => {
    const found = keyUsage(names);
    assert.equal(hex(found?.value), expected);
    if (found) assert.equal(found.critical, true);
  });
}

test('key usages read back in the order of their bits', () => {
  const found = keyUsage(['CRLSign', 'DecipherOnly', 'DigitalSignature']);
  assert.deepEqual(found && parseKeyUsage(found.value), [
    'DigitalSignature',
    'CRLSign',
    'DecipherOnly',
  ]);
});

test('extended key usages come in their own order, by names in any case', () => {
  assert.deepEqual(
    extKeyUsageOids(['clientauth', 'ServerAuth ', 'ANY', 'nonsense', 'ServerAuth']),
    ['2.5.29.37.0', '1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'],
  );
  assert.deepEqual(extKeyUsageOids(['MicrosoftKernelCodeSigning']), ['1.3.6.1.4.1.311.61.1.1']);
});

test('extKeyUsage is not critical, lists each OID once, and is absent for none', () => {
  const found = extKeyUsage(['1.2.3', '1.3.6.1.5.5.7.3.1', '1.2.3']);
  assert.equal(found?.critical, false);
  assert.deepEqual(found && parseExtKeyUsage(found.value), ['1.2.3', '1.3.6.1.5.5.7.3.1']);
  assert.equal(extKeyUsage([]), undefined);
  assert.throws(() => extKeyUsage(['1.2.x']), refused);
});

test('basicConstraints is critical, and a path length belongs to a CA', () => {
  const cases = [
    [{ ca: false }, '3000'],
    [{ ca: true }, '30030101ff'],
    [{ ca: true, pathLength: 0 }, '30060101ff020100'],
    [{ ca: true, pathLength: 300 }, '30070101ff0202012c'],
  ] as const;
  for (const [constraints, expected] of cases) {
    const found = basicConstraints(constraints);
    assert.equal(found.critical, true);
    assert.equal(hex(found.value), expected);
    assert.deepEqual(parseBasicConstraints(found.value), constraints);
  }
  assert.equal(hex(basicConstraints({ ca: false, pathLength: 1 }).value), '3000');
});

test('key identifiers read back', () => {
  const id = Buffer.alloc(20, 7);
  assert.equal(hex(parseSubjectKeyIdentifier(subjectKeyIdentifier(id).value)), hex(id));
  assert.equal(hex(parseAuthorityKeyIdentifier(authorityKeyIdentifier(id).value)), hex(id));
  assert.equal(hex(authorityKeyIdentifier(id).value), `30168014${hex(id)}`);
});

test('a CA known by name and serial number only has no key identifier', () => {
  const der = sequence(
    contextConstructed(1, contextPrimitive(2, Buffer.from('a'))),
    contextPrimitive(2, Buffer.of(5)),
  );
  assert.equal(parseAuthorityKeyIdentifier(der), undefined);
});

test('authorityInfoAccess lists responders, then issuers', () => {
  const urls = { ocsp: ['http://o/1', 'http://o/2'], caIssuers: ['http://c'] };
  const found = authorityInfoAccess(urls);
  assert.equal(found?.critical, false);
  assert.deepEqual(found && parseAuthorityInfoAccess(found.value), urls);
  assert.equal(authorityInfoAccess({ ocsp: [], caIssuers: [] }), undefined);
  assert.throws(() => authorityInfoAccess({ ocsp: ['http://é'], caIssuers: [] }), {
    message: /^ocsp_servers: /,
  });
});

test('each URL is a distribution point of its own', () => {
  const found = crlDistributionPoints(['http://a', 'ldap://b']);
  assert.equal(
    hex(found?.value),
    '3020300ea00ca00a8608687474703a2f2f61300ea00ca00a86086c6461703a2f2f62',
  );
  assert.deepEqual(found && parseDistributionPoints(found.value), ['http://a', 'ldap://b']);
  assert.equal(freshestCrl(['http://d'])?.oid, '2.5.29.46');
  assert.equal(crlDistributionPoints([]), undefined);
  assert.equal(freshestCrl([]), undefined);
});

test('subjectAltName is as critical as it is told to be', () => {
  assert.equal(subjectAltName({ ...none, dns: ['a'] }, true).critical, true);
  assert.equal(hex(subjectAltName({ ...none, dns: ['a'] }, false).value), '3003820161');
});

const broken: [what: string, read: (der: Uint8Array) => unknown, der: Uint8Array][] = [
  ['keyUsage that is no BIT STRING', parseKeyUsage, integer(1)],
  ['extKeyUsage without purposes', parseExtKeyUsage, sequence()],
  ['basicConstraints with a path length for a leaf', parseBasicConstraints, sequence(integer(1))],
  ['a negative path length', parseBasicConstraints, sequence(boolean(true), integer(-1))],
  ['a huge path length', parseBasicConstraints, sequence(boolean(true), integer(2n ** 70n))],
  ['an empty subjectKeyIdentifier', parseSubjectKeyIdentifier, octetString(new Uint8Array(0))],
  [
    'a subjectKeyIdentifier of 129 bytes',
    parseSubjectKeyIdentifier,
    octetString(new Uint8Array(129)),
  ],
  [
    'an authorityKeyIdentifier with a stray field',
    parseAuthorityKeyIdentifier,
    sequence(contextPrimitive(5, new Uint8Array(1))),
  ],
  [
    'authorityInfoAccess with a lone method',
    parseAuthorityInfoAccess,
    sequence(sequence(oid('1.2.3'))),
  ],
  [
    'authorityInfoAccess with a URL beyond ASCII',
    parseAuthorityInfoAccess,
    sequence(sequence(oid('1.3.6.1.5.5.7.48.1'), contextPrimitive(6, Buffer.of(0xe9)))),
  ],
  [
    'a distribution point with a stray field',
    parseDistributionPoints,
    sequence(sequence(contextPrimitive(7, new Uint8Array(1)))),
  ],
  [
    'a primitive distribution point name',
    parseDistributionPoints,
    sequence(sequence(tlv(0xa0, tlv(0x80, new Uint8Array(1))), tlv(0x80))),
  ],
];
for (const [what, read, der] of broken) {
  test(`${what} is refused`, () => assert.throws(() => read(der), refused));
}
