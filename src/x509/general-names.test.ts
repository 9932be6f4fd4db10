import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  contextConstructed,
  contextPrimitive,
  ia5String,
  integer,
  oid,
  sequence,
  tlv,
  utf8String,
} from './der.ts';
import { children, readDer } from './der-reader.ts';
import {
  encodeSubjectAltName,
  hasNoNames,
  parseSubjectAltName,
  type SubjectAltNames,
} from './general-names.ts';
import { encodeSubject } from './names.ts';

const refused = { kind: 'invalid' };
const none: SubjectAltNames = { dns: [], email: [], ip: [], uri: [], other: [] };
const UPN = '1.3.6.1.4.1.311.20.2.3';

test('names come as otherName, DNS, email, IP, URI; other OIDs and emails sorted, the rest as given', () => {
  const der = encodeSubjectAltName({
    uri: ['spiffe://b', 'spiffe://a'],
    ip: ['2001:db8::1', '192.0.2.1'],
    email: ['z@a.test', 'a@a.test'],
    dns: ['foobar.com', 'foo', 'bar'],
    other: [
      { oid: UPN, value: 'é@a.test' },
      { oid: '1.2.3', value: 'x' },
    ],
  });
  assert.deepEqual(
    children(readDer(der)).map((name) => name.tag),
    [0xa0, 0xa0, 0x82, 0x82, 0x82, 0x81, 0x81, 0x87, 0x87, 0x86, 0x86],
  );
  assert.deepEqual(parseSubjectAltName(der), {
    uri: ['spiffe://b', 'spiffe://a'],
    ip: ['2001:db8::1', '192.0.2.1'],
    email: ['a@a.test', 'z@a.test'],
    dns: ['foobar.com', 'foo', 'bar'],
    other: [
      { oid: '1.2.3', value: 'x' },
      { oid: UPN, value: 'é@a.test' },
    ],
    unknown: [],
  });
});

test('an otherName is a UTF8String, explicitly tagged', () => {
  const der = encodeSubjectAltName({ ...none, other: [{ oid: '1.2.3', value: 'x' }] });
  assert.equal(Buffer.from(der).toString('hex'), '300ba00906022a03a0030c0178');
});

test('no name at all is seen', () => {
  assert.equal(hasNoNames(none), true);
  assert.equal(hasNoNames({ ...none, uri: ['a:b'] }), false);
});

const unwritable: [what: string, names: Partial<SubjectAltNames>][] = [
  ['a DNS name beyond ASCII', { dns: ['é.test'] }],
  ['an empty DNS name', { dns: [''] }],
  ['a DNS name with NUL', { dns: ['a\0.test'] }],
  ['a DNS name with a line end', { dns: ['a.test\n'] }],
  ['an email address beyond ASCII', { email: ['é@a.test'] }],
  ['a URI beyond ASCII', { uri: ['https://é'] }],
  ['an IP address that is none', { ip: ['192.0.2.256'] }],
  ['an other name whose OID is none', { other: [{ oid: '1.2.x', value: 'a' }] }],
  ['an other name with NUL', { other: [{ oid: '1.2.3', value: 'a\0' }] }],
  ['5,001 names', { dns: new Array(5001).fill('a') }],
];
for (const [what, names] of unwritable) {
  test(`${what} is not written`, () => {
    assert.throws(() => encodeSubjectAltName({ ...none, ...names }), refused);
  });
}

const dns = (text: string): Uint8Array => contextPrimitive(2, Buffer.from(text));
const unreadable: [what: string, der: Uint8Array][] = [
  ['no names', sequence()],
  ['an empty name', sequence(dns(''))],
  ['a name with NUL', sequence(dns('a\0b'))],
  ['a name beyond ASCII', sequence(contextPrimitive(2, Uint8Array.of(0xe9)))],
  ['an address of 5 bytes', sequence(contextPrimitive(7, new Uint8Array(5)))],
  ['an unknown kind', sequence(contextPrimitive(9, new Uint8Array(1)))],
  ['a DNS name in parts', sequence(tlv(0xa2, ia5String('a')))],
  ['an otherName without a value', sequence(contextConstructed(0, oid('1.2.3')))],
  [
    'an otherName with an untagged value',
    sequence(contextConstructed(0, oid('1.2.3'), utf8String('a'))),
  ],
  ['a registered id that is none', sequence(contextPrimitive(8, Uint8Array.of(0x80)))],
  [
    'malformed parts of a kind we do not read',
    sequence(contextConstructed(3, Uint8Array.of(4, 9))),
  ],
  ['a SET', tlv(0x31, dns('a'))],
];
for (const [what, der] of unreadable) {
  test(`a subjectAltName of ${what} is refused`, () => {
    assert.throws(() => parseSubjectAltName(der), refused);
  });
}

test('names of other kinds are kept whole', () => {
  const others = [
    contextConstructed(4, encodeSubject({ common_name: 'a' })),
    contextPrimitive(8, Uint8Array.of(0x2a, 3)),
    contextConstructed(0, oid('1.2.3'), contextConstructed(0, integer(1))),
  ];
  const parsed = parseSubjectAltName(sequence(dns('a'), ...others));
  assert.deepEqual(parsed.dns, ['a']);
  assert.deepEqual(
    parsed.unknown.map((name) => Buffer.from(name)),
    others.map((name) => Buffer.from(name)),
  );
});

test('an IPv4 address in IPv6 form is the IPv4 address, written or read', () => {
  const der = encodeSubjectAltName({ ...none, ip: ['::ffff:192.0.2.1'] });
  assert.deepEqual(parseSubjectAltName(der).ip, ['192.0.2.1']);
  assert.equal(der.length, 8);
  const mapped = Buffer.from('00000000000000000000ffffc0000201', 'hex');
  assert.deepEqual(parseSubjectAltName(sequence(contextPrimitive(7, mapped))).ip, ['192.0.2.1']);
});
