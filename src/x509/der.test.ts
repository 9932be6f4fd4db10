import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bitString,
  boolean,
  contextConstructed,
  contextPrimitive,
  directoryString,
  generalizedTime,
  ia5String,
  integer,
  isOid,
  latin1Bytes,
  namedBitString,
  nullValue,
  octetString,
  oid,
  sequence,
  setOf,
  time,
  tlv,
  unsignedInteger,
  utf8String,
} from './der.ts';
import { readInteger, readOid, readTime, readUnsigned } from './der-primitives.ts';
import { children, readDer } from './der-reader.ts';
import { readString } from './der-strings.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const bytes = (text: string): Uint8Array => Buffer.from(text.replaceAll(' ', ''), 'hex');

const vectors: [what: string, encoded: Uint8Array, expected: string][] = [
  ['X.690 §8.2 BOOLEAN true, in the only form of §11.1', boolean(true), '0101ff'],
  ['BOOLEAN false', boolean(false), '010100'],
  ['INTEGER 0', integer(0), '020100'],
  ['INTEGER 127', integer(127), '02017f'],
  ['INTEGER 128 gets a sign byte', integer(128), '02020080'],
  ['INTEGER 256', integer(256n), '02020100'],
  ['INTEGER -128 fits one byte', integer(-128), '020180'],
  ['INTEGER -129 needs two', integer(-129), '0202ff7f'],
  ['INTEGER -1', integer(-1), '0201ff'],
  ['a magnitude with its top bit set gets a sign byte', unsignedInteger(bytes('80')), '02020080'],
  ['a magnitude loses its leading zeros', unsignedInteger(bytes('00 00 01')), '020101'],
  ['a magnitude of zeros is 0', unsignedInteger(bytes('00 00')), '020100'],
  ['no magnitude is 0', unsignedInteger(bytes('')), '020100'],
  [
    'X.690 §8.6.4.2 BIT STRING 0A3B5F291CD',
    bitString(bytes('0A3B5F291CD0'), 4),
    '0307040a3b5f291cd0',
  ],
  ['X.690 §8.8.2 NULL', nullValue(), '0500'],
  [
    'X.690 §8.9.3 SEQUENCE of IA5String and BOOLEAN',
    sequence(ia5String('Smith'), boolean(true)),
    '300a1605536d6974680101ff',
  ],
  [
    'X.690 §8.14 [2] explicit VisibleString',
    contextConstructed(2, tlv(0x1a, Buffer.from('Jones'))),
    'a2071a054a6f6e6573',
  ],
  ['X.690 §8.14 [2] implicit', contextPrimitive(2, Buffer.from('Jones')), '82054a6f6e6573'],
  ['X.690 §8.19.5 {2 999 3}', oid('2.999.3'), '0603883703'],
  ['rsadsi, 1.2.840.113549', oid('1.2.840.113549'), '06062a864886f70d'],
  [
    'a UUID arc of 128 bits',
    oid('2.25.340282366920938463463374607431768211455'),
    '06146983ffffffffffffffffffffffffffffffffff7f',
  ],
  ['named bits 0 and 2', namedBitString([0, 2]), '030205a0'],
  ['named bit 8 needs a second byte', namedBitString([8]), '0303070080'],
  ['no named bits', namedBitString([]), '030100'],
  [
    'SET OF is sorted',
    setOf(utf8String('b'), utf8String('aa'), utf8String('a')),
    '310a0c01610c01620c026161',
  ],
  ['a length of 127 is one byte', octetString(new Uint8Array(127)).subarray(0, 3), '047f00'],
  ['a length of 128 is two', octetString(new Uint8Array(128)).subarray(0, 3), '048180'],
  ['a length of 65536 is four', octetString(new Uint8Array(65536)).subarray(0, 5), '0483010000'],
  ['PrintableString where the alphabet allows', directoryString("A-1 'x'"), '1307412d3120277827'],
  ['UTF8String for an underscore', directoryString('a_b'), '0c03615f62'],
  ['UTF8String for an asterisk', directoryString('*.a'), '0c032a2e61'],
];

for (const [what, encoded, expected] of vectors) {
  test(`${what}`, () => assert.equal(hex(encoded), expected));
}

const times: [iso: string, tag: number, text: string][] = [
  ['1950-01-01T00:00:00Z', 0x17, '500101000000Z'],
  ['1949-12-31T23:59:59Z', 0x18, '19491231235959Z'],
  ['2049-12-31T23:59:59Z', 0x17, '491231235959Z'],
  ['2050-01-01T00:00:00Z', 0x18, '20500101000000Z'],
  ['9999-12-31T23:59:59Z', 0x18, '99991231235959Z'],
];
for (const [iso, tag, text] of times) {
  test(`${iso} is written as ${text} (RFC 5280 §4.1.2.5)`, () => {
    const value = readDer(time(Date.parse(iso) / 1000));
    assert.equal(value.tag, tag);
    assert.equal(Buffer.from(value.content).toString(), text);
    assert.equal(readTime(value), Date.parse(iso) / 1000);
  });
}

test('a time beyond the year 9999 cannot be written', () => {
  assert.throws(() => generalizedTime(253402300800), RangeError);
  assert.throws(() => time(Number.NaN), RangeError);
});

const oids: [text: string, verdict: boolean][] = [
  ['1.2.3', true],
  ['0.39', true],
  ['0.40', false],
  ['1.39', true],
  ['1.40', false],
  ['2.40', true],
  ['3.1', false],
  ['1', false],
  ['', false],
  ['1.', false],
  ['1.02', false],
  ['1.-2', false],
  ['1.2.3 ', false],
  ['2.25.340282366920938463463374607431768211455', true],
  ['2.25.340282366920938463463374607431768211456', false],
  [`1.2${'.1'.repeat(62)}`, true],
  [`1.2${'.1'.repeat(63)}`, false],
  [`1.2${'.340282366920938463463374607431768211455'.repeat(6)}`, true],
  [`1.2${'.340282366920938463463374607431768211455'.repeat(7)}`, false],
];
for (const [text, verdict] of oids) {
  test(`${text || 'nothing'} is ${verdict ? '' : 'not '}an object identifier`, () => {
    assert.equal(isOid(text), verdict);
    if (verdict) assert.equal(readOid(readDer(oid(text))), text);
    else assert.throws(() => oid(text), RangeError);
  });
}

/** A small generator with a fixed seed, so that a failure is the same on every machine. */
function dice(seed: number): (sides: number) => number {
  let state = seed >>> 0;
  return (sides) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * sides);
  };
}

test('whatever the writer writes, the reader reads back', () => {
  const roll = dice(7);
  for (let round = 0; round < 2000; round++) {
    const number = (BigInt(roll(2 ** 32)) << BigInt(roll(200))) * (roll(2) === 0 ? 1n : -1n);
    assert.equal(readInteger(readDer(integer(number))), number);

    const magnitude = Uint8Array.from({ length: 1 + roll(20) }, () => 1 + roll(255));
    assert.deepEqual(
      Buffer.from(readUnsigned(readDer(unsignedInteger(magnitude)))),
      Buffer.from(magnitude),
    );

    const arcs = Array.from({ length: 1 + roll(10) }, () => roll(2 ** 31));
    const text = `2.${arcs.join('.')}`;
    assert.equal(readOid(readDer(oid(text))), text);

    const when = roll(2 ** 32) * 59 - 2_200_000_000;
    assert.equal(readTime(readDer(time(when))), when);

    const word = String.fromCodePoint(...Array.from({ length: roll(20) }, () => 1 + roll(0xd7ff)));
    assert.equal(readString(readDer(directoryString(word))), word);

    const parts = Array.from({ length: roll(6) }, () => octetString(new Uint8Array(roll(300))));
    const list = children(readDer(sequence(...parts)));
    assert.deepEqual(
      list.map((child) => hex(child.raw)),
      parts.map(hex),
    );
  }
});

test('a time has the digits that its date has, whatever it is', () => {
  const bounds = ['1949-12-31T23:59:59Z', '1950-01-01T00:00:00Z', '2049-12-31T23:59:59Z'];
  bounds.push('2050-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '0000-01-01T00:00:00Z');
  const seconds = bounds.map((text) => Date.parse(text) / 1000);
  for (let at = 0; at < 2_000; at += 1) seconds.push((at * 7_919_317) % 8_000_000_000);
  for (const second of seconds) {
    const digits = new Date(second * 1000)
      .toISOString()
      .replace('.000', '')
      .replaceAll(/[-T:]/g, '');
    const year = Number(digits.slice(0, 4));
    assert.equal(Buffer.from(generalizedTime(second)).toString('latin1', 2), digits);
    const isShort = year >= 1950 && year < 2050;
    const told = Buffer.from(time(second));
    assert.equal(told.toString('latin1', 2), isShort ? digits.slice(2) : digits);
    assert.equal(told[0], isShort ? 0x17 : 0x18);
  }
});

test('a text of any length has the bytes of its units', () => {
  for (const length of [0, 1, 63, 64, 65, 1_000]) {
    const text = Array.from({ length }, (_, at) => String.fromCharCode((at * 37) % 256)).join('');
    assert.deepEqual(Buffer.from(latin1Bytes(text)), Buffer.from(text, 'latin1'));
  }
});
