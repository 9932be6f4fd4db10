import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../core/failure.ts';
import { integer, octetString, sequence, TAG, tlv } from './der.ts';
import {
  readBitString,
  readBoolean,
  readInteger,
  readNamedBits,
  readOid,
  readSmallInteger,
  readTime,
  readUnsigned,
  readWholeBitString,
} from './der-primitives.ts';
import {
  children,
  DerError,
  DerFields,
  type DerValue,
  eachChild,
  expect,
  MAX_DER_CHILDREN,
  MAX_DER_DEPTH,
  onlyChild,
  readDer,
  requireWellFormed,
} from './der-reader.ts';
import { readAscii, readString } from './der-strings.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex');
const refused = { name: 'DerError', kind: 'invalid' };

const shapes: [hex: string, why: string][] = [
  ['', 'nothing at all'],
  ['30', 'a tag without a length'],
  ['30 80 00 00', 'an indefinite length'],
  ['04 81 7f', 'a long form where the short form does'],
  [`04 81 05 ${'00'.repeat(5)}`, 'a long form for a short length'],
  [`04 82 00 80 ${'00'.repeat(128)}`, 'a leading zero in the length'],
  ['04 81', 'an end inside the length'],
  ['04 82 01', 'an end inside the length'],
  ['04 84 ff ff ff ff', 'a huge length'],
  ['04 85 01 00 00 00 00', 'a length of five bytes'],
  ['04 ff', 'the reserved length'],
  ['04 02 00', 'content that is cut short'],
  ['05 00 00', 'a byte after the value'],
  ['05 00 05 00', 'a second value'],
  ['1f 81 01 00', 'a high tag number'],
  ['bf 20 00', 'a high tag number of a context'],
  ['00 00', 'an end-of-contents marker'],
  ['24 04 04 02 01 02', 'an OCTET STRING in parts'],
  ['10 00', 'a SEQUENCE that is not constructed'],
  ['11 00', 'a SET that is not constructed'],
];
for (const [text, why] of shapes) {
  test(`${why} is refused`, () => assert.throws(() => readDer(bytes(text)), refused));
}

test('a refusal is a Failure that says where', () => {
  assert.throws(
    () => children(readDer(bytes('30 05 02 01 01 30 80'))),
    (error) =>
      error instanceof DerError && error instanceof Failure && /byte 5/.test(error.message),
  );
});

test('more bytes than the caller allows are not looked at, as many as allowed are', () => {
  const value = octetString(new Uint8Array(98));
  assert.equal(readDer(value, 100).content.length, 98);
  assert.throws(() => readDer(value, 99), refused);
});

test('values are views into the input, with their places', () => {
  const input = sequence(integer(1), sequence(integer(2)));
  const [first, second] = children(readDer(input));
  assert.equal(first?.offset, 2);
  assert.equal(second?.offset, 5);
  assert.equal(second?.raw.buffer, input.buffer);
  assert.equal(second && onlyChild(second).offset, 7);
  assert.equal(second && onlyChild(second).depth, 2);
});

function nest(levels: number): Uint8Array {
  let value: Uint8Array = integer(1);
  for (let level = 0; level < levels; level++) value = sequence(value);
  return value;
}

test(`nesting is read down to depth ${MAX_DER_DEPTH} and no further`, () => {
  requireWellFormed(readDer(nest(MAX_DER_DEPTH)));
  assert.throws(() => requireWellFormed(readDer(nest(MAX_DER_DEPTH + 1))), refused);
});

test('a bomb of depth a hundred thousand is refused at once', () => {
  const bomb = new Uint8Array(400_000).fill(0x30);
  assert.throws(() => requireWellFormed(readDer(bomb)), refused);
  // Each level claims all that follows: 30 83 xx xx xx …
  const claims = new Uint8Array(500_000);
  for (let at = 0; at + 5 <= claims.length; at += 5) {
    const rest = claims.length - at - 5;
    claims.set([0x30, 0x83, rest >> 16, (rest >> 8) & 0xff, rest & 0xff], at);
  }
  assert.throws(() => requireWellFormed(readDer(claims)), refused);
});

test('a list has a bound, a walk along it has none', () => {
  const many = (count: number): DerValue => {
    const content = new Uint8Array(count * 2);
    for (let at = 0; at < content.length; at += 2) content[at] = TAG.null;
    return readDer(tlv(TAG.sequence, content));
  };
  assert.equal(children(many(MAX_DER_CHILDREN)).length, MAX_DER_CHILDREN);
  assert.throws(() => children(many(MAX_DER_CHILDREN + 1)), refused);
  let walked = 0;
  for (const _ of eachChild(many(MAX_DER_CHILDREN + 1))) walked++;
  assert.equal(walked, MAX_DER_CHILDREN + 1);
});

test('a primitive value has no children', () => {
  assert.throws(() => children(readDer(bytes('04 00'))), refused);
  assert.throws(() => [...eachChild(readDer(bytes('04 00')))], refused);
});

test('fields are taken in order, and what is left over is refused', () => {
  const value = readDer(sequence(integer(1), octetString(bytes('aa'))));
  const fields = new DerFields(value);
  assert.equal(fields.takeIf(TAG.boolean), undefined);
  assert.equal(readSmallInteger(fields.take(TAG.integer), 9), 1);
  assert.throws(() => fields.end(), refused);
  assert.equal(fields.tag, TAG.octetString);
  fields.take();
  fields.end();
  assert.throws(() => fields.take(), refused);
  assert.throws(() => new DerFields(value, TAG.set), refused);
  assert.throws(() => expect(undefined, TAG.set), refused);
});

type Reading = (value: DerValue) => unknown;
const small: Reading = (value) => readSmallInteger(value, 1000);
const contents: [read: Reading, hex: string, expected: unknown, why: string][] = [
  [readBoolean, '01 01 ff', true, 'BOOLEAN true'],
  [readBoolean, '01 01 00', false, 'BOOLEAN false'],
  [readBoolean, '01 01 01', undefined, 'a BOOLEAN that DER does not know'],
  [readBoolean, '01 02 ff ff', undefined, 'a BOOLEAN of two bytes'],
  [readBoolean, '01 00', undefined, 'a BOOLEAN of none'],
  [readInteger, '02 01 80', -128n, 'a negative INTEGER'],
  [readInteger, '02 02 00 80', 128n, 'an INTEGER with a sign byte'],
  [readInteger, '02 02 00 7f', undefined, 'an INTEGER with a zero too many'],
  [readInteger, '02 02 ff 80', undefined, 'an INTEGER with an ff too many'],
  [readInteger, '02 00', undefined, 'an INTEGER without content'],
  [readUnsigned, '02 01 00', '00', 'a magnitude of zero'],
  [readUnsigned, '02 02 00 ff', 'ff', 'a magnitude without its sign byte'],
  [readUnsigned, '02 01 ff', undefined, 'a negative magnitude'],
  [small, '02 02 03 e8', 1000, 'a number as large as it may be'],
  [small, '02 02 03 e9', undefined, 'a number larger than that'],
  [small, '02 01 ff', undefined, 'a negative number'],
  [small, `02 20 01 ${'00'.repeat(31)}`, undefined, 'a number far too large'],
  [readBitString, '03 01 00', { bytes: '', unusedBits: 0 }, 'an empty BIT STRING'],
  [readBitString, '03 02 04 f0', { bytes: 'f0', unusedBits: 4 }, 'a BIT STRING of four bits'],
  [readBitString, '03 02 04 f8', undefined, 'a BIT STRING with a stray bit'],
  [readBitString, '03 02 08 00', undefined, 'eight unused bits'],
  [readBitString, '03 01 01', undefined, 'unused bits of nothing'],
  [readBitString, '03 00', undefined, 'a BIT STRING without content'],
  [readWholeBitString, '03 02 00 f0', 'f0', 'a BIT STRING of whole bytes'],
  [
    readWholeBitString,
    '03 02 01 f0',
    undefined,
    'a BIT STRING of seven bits where bytes are wanted',
  ],
  [readNamedBits, '03 02 05 a0', [0, 2], 'named bits'],
  [readNamedBits, '03 02 00 a0', [0, 2], 'named bits with zeros behind'],
  [readNamedBits, `03 0a 00 ${'01'.repeat(9)}`, undefined, 'more named bits than anything has'],
  [readOid, '06 03 88 37 03', '2.999.3', 'an OBJECT IDENTIFIER'],
  [readOid, '06 01 27', '0.39', 'the last arc under 0'],
  [readOid, '06 01 28', '1.0', 'the first arc under 1'],
  [readOid, '06 00', undefined, 'an OBJECT IDENTIFIER of nothing'],
  [readOid, '06 02 2a 80', undefined, 'an arc that does not end'],
  [readOid, '06 03 2a 80 01', undefined, 'an arc with a padding byte'],
  [readOid, `06 13 69 ${'ff'.repeat(17)} 7f`, `2.25.${2n ** 126n - 1n}`, 'an arc of 126 bits'],
  [readOid, `06 15 69 ${'ff'.repeat(19)} 7f`, undefined, 'an arc of 140 bits'],
  [readOid, `06 40 ${'01'.repeat(64)}`, undefined, 'an OBJECT IDENTIFIER of 65 arcs'],
  [readOid, `06 81 81 ${'81'.repeat(128)} 01`, undefined, 'an OBJECT IDENTIFIER of 129 bytes'],
  [readString, '0c 02 c3 a9', 'é', 'a UTF8String'],
  [readString, '0c 02 c3 28', undefined, 'a UTF8String that is not UTF-8'],
  [readString, '0c 02 c0 80', undefined, 'an over-long NUL'],
  [readString, '0c 03 ed a0 80', undefined, 'half of a surrogate pair'],
  [readString, '0c 03 61 00 62', undefined, 'a NUL in a UTF8String'],
  [readString, '13 03 2a 2e 61', '*.a', 'a wildcard in a PrintableString, as many write it'],
  [readString, '13 03 61 40 62', undefined, 'an @ in a PrintableString'],
  [readString, '12 03 31 20 32', '1 2', 'a NumericString'],
  [readString, '12 01 61', undefined, 'a letter in a NumericString'],
  [readString, '16 02 61 40', 'a@', 'an IA5String'],
  [readString, '16 01 e9', undefined, 'an IA5String beyond ASCII'],
  [readString, '14 01 e9', 'é', 'a TeletexString'],
  [readString, '1e 02 00 e9', 'é', 'a BMPString'],
  [readString, '1e 03 00 e9 00', undefined, 'a BMPString with a byte too many'],
  [readString, '1e 02 d8 00', undefined, 'a BMPString with half of a surrogate pair'],
  [readString, '1c 04 00 01 f6 00', '😀', 'a UniversalString'],
  [readString, '1c 04 00 11 00 00', undefined, 'a UniversalString beyond Unicode'],
  [readString, '04 01 61', undefined, 'an OCTET STRING where a string is wanted'],
  [readAscii, '82 01 61', 'a', 'an implicitly tagged IA5String'],
  [readAscii, '82 02 61 00', undefined, 'a NUL in one'],
  [readAscii, '82 01 e9', undefined, 'one beyond ASCII'],
];
for (const [read, text, expected, why] of contents) {
  test(`${why} is ${expected === undefined ? 'refused' : 'read'} (${read.name || 'readSmallInteger'})`, () => {
    const value = readDer(bytes(text));
    if (expected === undefined) assert.throws(() => read(value), refused);
    else assert.deepEqual(plain(read(value)), expected);
  });
}

/** Bytes as hexadecimal text, so that results compare. */
function plain(result: unknown): unknown {
  if (result instanceof Uint8Array) return Buffer.from(result).toString('hex');
  if (result !== null && typeof result === 'object' && 'bytes' in result) {
    return { ...result, bytes: plain(result.bytes) };
  }
  return result;
}

const times: [tag: number, text: string, iso: string | undefined][] = [
  [0x17, '491231235959Z', '2049-12-31T23:59:59Z'],
  [0x17, '500101000000Z', '1950-01-01T00:00:00Z'],
  [0x18, '99991231235959Z', '9999-12-31T23:59:59Z'],
  [0x18, '00010101000000Z', '0001-01-01T00:00:00Z'],
  [0x17, '240229000000Z', '2024-02-29T00:00:00Z'],
  [0x17, '230229000000Z', undefined],
  [0x17, '231301000000Z', undefined],
  [0x17, '230001000000Z', undefined],
  [0x17, '230100000000Z', undefined],
  [0x17, '230101240000Z', undefined],
  [0x17, '230101006000Z', undefined],
  [0x17, '230101000060Z', undefined],
  [0x17, '2301010000Z', undefined],
  [0x17, '230101000000+0100', undefined],
  [0x17, '23010100000 Z', undefined],
  [0x17, '-30101000000Z', undefined],
  [0x18, '20500101000000.5Z', undefined],
  [0x18, '20500101000000', undefined],
  [0x0c, '230101000000Z', undefined],
];
for (const [tag, text, iso] of times) {
  test(`the time ${text} (tag ${tag}) is ${iso ?? 'refused'}`, () => {
    const value = readDer(tlv(tag, Buffer.from(text)));
    if (iso === undefined) assert.throws(() => readTime(value), refused);
    else assert.equal(readTime(value), Date.parse(iso) / 1000);
  });
}
