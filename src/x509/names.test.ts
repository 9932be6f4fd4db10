import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  integer,
  nullValue,
  octetString,
  oid,
  sequence,
  setOf,
  TAG,
  tlv,
  utf8String,
} from './der.ts';
import { children, readDer } from './der-reader.ts';
import { encodeSubject, isEmptyName, nameText, parseName, type SubjectFields } from './names.ts';

const refused = { kind: 'invalid' };
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const text = (fields: SubjectFields): string => nameText(parseName(encodeSubject(fields)));

const everything: SubjectFields = {
  user_ids: ['u1'],
  serial_number: '42',
  common_name: 'cn.test',
  postal_code: ['1000'],
  street_address: ['Main St 1'],
  province: ['ST'],
  locality: ['Town'],
  ou: ['Unit'],
  organization: ['Org'],
  country: ['CH'],
};

test('attributes come in the order C, O, OU, L, ST, STREET, postalCode, CN, serialNumber, UID', () => {
  assert.equal(
    text(everything),
    'UID=u1,serialNumber=42,CN=cn.test,postalCode=1000,STREET=Main St 1,ST=ST,L=Town,OU=Unit,O=Org,C=CH',
  );
});

test('a name reads back as its fields', () => {
  assert.deepEqual(parseName(encodeSubject(everything)).fields, everything);
});

test('several values share one part of the name, each once, sorted as DER wants it', () => {
  const der = encodeSubject({ ou: ['Z', 'E', 'V', 'Z'] });
  const [set, second] = children(readDer(der));
  assert.equal(second, undefined);
  assert.equal(set && children(set).length, 3);
  assert.deepEqual(parseName(der).fields.ou, ['E', 'V', 'Z']);
});

test('sorting is by encoding, so a shorter value comes first', () => {
  assert.deepEqual(parseName(encodeSubject({ ou: ['aa', 'b'] })).fields.ou, ['b', 'aa']);
});

test('empty values leave no trace', () => {
  assert.equal(hex(encodeSubject({ common_name: '', ou: ['', ''], country: [] })), '3000');
  assert.equal(isEmptyName(encodeSubject({})), true);
  assert.equal(isEmptyName(encodeSubject({ common_name: 'a' })), false);
});

const types: [value: string, tag: number][] = [
  ["Az 09'()+,-./:=?", TAG.printableString],
  ['a_b', TAG.utf8String],
  ['*.a.test', TAG.utf8String],
  ['a@b', TAG.utf8String],
  ['é', TAG.utf8String],
];
for (const [value, tag] of types) {
  test(`"${value}" is a ${tag === TAG.utf8String ? 'UTF8String' : 'PrintableString'}`, () => {
    const der = encodeSubject({ common_name: value });
    assert.equal(der[11], tag);
    assert.equal(parseName(der).fields.common_name, value);
  });
}

test('NUL and half of a surrogate pair are refused by the name of the field', () => {
  assert.throws(() => encodeSubject({ common_name: 'a\0b' }), {
    ...refused,
    message: /^common_name /,
  });
  assert.throws(() => encodeSubject({ ou: ['ok', '\ud800'] }), { ...refused, message: /^ou / });
});

test('a long name reads back like any other', () => {
  const common_name = 'a'.repeat(100_000);
  assert.equal(parseName(encodeSubject({ common_name })).fields.common_name, common_name);
});

const CN = oid('2.5.4.3');
const name = (...parts: Uint8Array[]): Uint8Array => sequence(...parts);
const cn = (value: Uint8Array): Uint8Array => setOf(sequence(CN, value));

const malformed: [what: string, der: Uint8Array][] = [
  ['an empty part', name(tlv(TAG.set))],
  ['a part that is no SET', name(sequence(sequence(CN, utf8String('a'))))],
  ['an attribute without a value', name(setOf(sequence(CN)))],
  ['an attribute with two values', name(setOf(sequence(CN, utf8String('a'), utf8String('b'))))],
  ['a common name that is a number', name(cn(integer(1)))],
  ['a common name with NUL', name(cn(utf8String('a\0')))],
  [
    'an unknown attribute with malformed content',
    name(setOf(sequence(oid('1.2.3'), tlv(0x30, Uint8Array.of(4, 5))))),
  ],
  ['300 attributes', name(...Array.from({ length: 300 }, () => cn(utf8String('a'))))],
  ['no SEQUENCE', octetString(new Uint8Array(2))],
  ['bytes behind it', Buffer.concat([name(), nullValue()])],
];
for (const [what, der] of malformed) {
  test(`a name with ${what} is refused`, () => assert.throws(() => parseName(der), refused));
}

test('of several common names the last counts', () => {
  assert.equal(parseName(name(cn(utf8String('a')), cn(utf8String('b')))).fields.common_name, 'b');
});

test('attributes we do not know are kept, with their order', () => {
  const der = name(
    setOf(sequence(oid('1.2.3'), utf8String('x'))),
    setOf(sequence(oid('2.5.4.45'), tlv(TAG.bitString, Uint8Array.of(0, 1)))),
    cn(utf8String('y')),
  );
  const parsed = parseName(der);
  assert.deepEqual(parsed.attributes, [
    [{ oid: '1.2.3', tag: TAG.utf8String, value: 'x' }],
    [{ oid: '2.5.4.45', tag: TAG.bitString, value: '#03020001' }],
    [{ oid: '2.5.4.3', tag: TAG.utf8String, value: 'y' }],
  ]);
  assert.equal(hex(parsed.raw), hex(der));
});

// The examples of RFC 4514 §4, as far as the attributes are ours.
const lines: [fields: SubjectFields, line: string][] = [
  [{ common_name: 'James "Jim" Smith, III' }, 'CN=James \\"Jim\\" Smith\\, III'],
  [{ common_name: 'Before\rAfter' }, 'CN=Before\\0dAfter'],
  [{ common_name: 'Lučić' }, 'CN=Lučić'],
  [{ common_name: '#1 ' }, 'CN=\\#1\\ '],
  [{ common_name: ' a' }, 'CN=\\ a'],
  [{ common_name: 'a+b;c<d>e\\f' }, 'CN=a\\+b\\;c\\<d\\>e\\\\f'],
  [{ common_name: '\u001b[31m' }, 'CN=\\1b[31m'],
  [{ common_name: 'a', ou: ['x', 'y'] }, 'CN=a,OU=x+OU=y'],
];
for (const [fields, line] of lines) {
  test(`the line of ${JSON.stringify(fields)} is ${line}`, () => assert.equal(text(fields), line));
}
