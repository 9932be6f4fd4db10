/** Primitive values of DER: numbers, bits, object identifiers and times. */

import { TAG } from './der.ts';
import { type DerValue, expect, malformed } from './der-reader.ts';

const MAX_OID_BYTES = 128;
const MAX_OID_ARCS = 64;

export function readBoolean(value: DerValue): boolean {
  const { content } = expect(value, TAG.boolean);
  if (content.length !== 1 || (content[0] !== 0 && content[0] !== 0xff)) {
    throw malformed(value.offset, 'a BOOLEAN that is neither 00 nor ff');
  }
  return content[0] === 0xff;
}

function integerContent(value: DerValue, tag: number): Uint8Array {
  const { content } = expect(value, tag);
  const [first, second] = content;
  if (first === undefined) throw malformed(value.offset, 'an INTEGER without content');
  if (
    second !== undefined &&
    ((first === 0 && second < 0x80) || (first === 0xff && second >= 0x80))
  ) {
    throw malformed(value.offset, 'an INTEGER that is not in its shortest form');
  }
  return content;
}

/** INTEGER of any sign. */
export function readInteger(value: DerValue): bigint {
  const content = integerContent(value, TAG.integer);
  const magnitude = BigInt(`0x${Buffer.from(content).toString('hex')}`);
  return (content[0] ?? 0) >= 0x80 ? magnitude - (1n << BigInt(content.length * 8)) : magnitude;
}

/** INTEGER or ENUMERATED between 0 and `max`, for counts, versions and codes. */
export function readSmallInteger(value: DerValue, max: number, tag: number = TAG.integer): number {
  const content = integerContent(value, tag);
  let number = 0;
  for (const byte of content) number = number * 256 + byte;
  if ((content[0] ?? 0) >= 0x80 || content.length > 6 || number > max) {
    throw malformed(value.offset, `a number that is not between 0 and ${max}`);
  }
  return number;
}

/** Big-endian magnitude of an INTEGER that is not negative, without its sign byte; one 00 byte for zero. */
export function readUnsigned(value: DerValue): Uint8Array {
  const content = integerContent(value, TAG.integer);
  if ((content[0] ?? 0) >= 0x80) throw malformed(value.offset, 'a negative INTEGER');
  return content.length > 1 && content[0] === 0 ? content.subarray(1) : content;
}

/** The number of a big-endian magnitude. */
export function magnitudeOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

interface BitString {
  bytes: Uint8Array;
  /** How many of the last byte's low bits do not belong to it, 0 to 7; they are zero. */
  unusedBits: number;
}

export function readBitString(value: DerValue, tag: number = TAG.bitString): BitString {
  const { content } = expect(value, tag);
  const unusedBits = content[0];
  const last = content[content.length - 1] ?? 0;
  if (unusedBits === undefined || unusedBits > 7 || (content.length === 1 && unusedBits !== 0)) {
    throw malformed(value.offset, 'a BIT STRING with an impossible count of unused bits');
  }
  if (content.length > 1 && (last & ((1 << unusedBits) - 1)) !== 0) {
    throw malformed(value.offset, 'a BIT STRING whose unused bits are not zero');
  }
  return { bytes: content.subarray(1), unusedBits };
}

/** BIT STRING that fills whole bytes, as keys and signatures do. */
export function readWholeBitString(value: DerValue): Uint8Array {
  const { bytes, unusedBits } = readBitString(value);
  if (unusedBits !== 0)
    throw malformed(value.offset, 'a BIT STRING that does not fill whole bytes');
  return bytes;
}

/**
 * Numbers of the bits that are set, lowest first. Trailing zero bits, which DER would leave out
 * (X.690 §11.2.2), are accepted: several certificate tools write them and they change nothing.
 */
export function readNamedBits(value: DerValue, tag: number = TAG.bitString): number[] {
  const { bytes } = readBitString(value, tag);
  if (bytes.length > 8) throw malformed(value.offset, 'more than 64 named bits');
  const bits: number[] = [];
  for (const [index, byte] of bytes.entries()) {
    for (let bit = 0; bit < 8; bit++) {
      if ((byte & (0x80 >> bit)) !== 0) bits.push(index * 8 + bit);
    }
  }
  return bits;
}

/** OBJECT IDENTIFIER in dotted form; at most 64 arcs of at most 128 bits, 128 bytes in all. */
export function readOid(value: DerValue, tag: number = TAG.oid): string {
  const { content } = expect(value, tag);
  if (content.length === 0 || content.length > MAX_OID_BYTES) {
    throw malformed(
      value.offset,
      `an OBJECT IDENTIFIER that is not 1 to ${MAX_OID_BYTES} bytes long`,
    );
  }
  let text = '';
  let arcs = 0;
  for (let at = 0; at < content.length; arcs++) {
    const start = at;
    let short = 0;
    for (let more = true; more; at++) {
      const byte = content[at] ?? 0;
      more = byte >= 0x80;
      short = short * 128 + (byte & 0x7f);
    }
    if (at > content.length)
      throw malformed(value.offset, 'an OBJECT IDENTIFIER that ends inside an arc');
    if (content[start] === 0x80)
      throw malformed(value.offset, 'an arc that is not in its shortest form');
    const arc =
      at - start > EXACT_ARC ? readLongArc(content.subarray(start, at), value.offset) : short;
    if (arcs > 0) {
      text += `.${arc}`;
    } else {
      const root = arc < 40 ? 0 : arc < 80 ? 1 : 2;
      text = `${root}.${typeof arc === 'bigint' ? arc - BigInt(root * 40) : arc - root * 40}`;
      arcs++;
    }
  }
  if (arcs > MAX_OID_ARCS) throw malformed(value.offset, `more than ${MAX_OID_ARCS} arcs`);
  return text;
}

/** Bytes of an arc that a number holds exactly. */
const EXACT_ARC = 7;

function readLongArc(bytes: Uint8Array, offset: number): bigint {
  let arc = 0n;
  for (const byte of bytes) arc = arc * 128n + BigInt(byte & 0x7f);
  if (arc >> 128n !== 0n) throw malformed(offset, 'an arc of more than 128 bits');
  return arc;
}

/**
 * UTCTime or GeneralizedTime in the one form RFC 5280 §4.1.2.5 allows: seconds, `Z`, no fraction.
 *
 * @returns Unix seconds
 */
export function readTime(value: DerValue): number {
  const { content, tag } = value;
  const yearDigits = tag === TAG.utcTime ? 2 : 4;
  if (tag !== TAG.utcTime && tag !== TAG.generalizedTime) {
    throw malformed(value.offset, `tag 0x${tag.toString(16)} where a time is expected`);
  }
  if (content.length !== yearDigits + 11 || content[content.length - 1] !== 0x5a) {
    throw malformed(value.offset, 'a time without seconds, with a fraction, or not in UTC');
  }
  const digits = (at: number, count: number): number => {
    let number = 0;
    for (let i = at; i < at + count; i++) {
      const digit = (content[i] ?? 0) - 0x30;
      if (digit < 0 || digit > 9)
        throw malformed(value.offset, 'a time that is not made of digits');
      number = number * 10 + digit;
    }
    return number;
  };
  const shortYear = digits(0, yearDigits);
  const year = yearDigits === 4 ? shortYear : shortYear < 50 ? 2000 + shortYear : 1900 + shortYear;
  const [month, day] = [digits(yearDigits, 2), digits(yearDigits + 2, 2)];
  const [hour, minute, second] = [
    digits(yearDigits + 4, 2),
    digits(yearDigits + 6, 2),
    digits(yearDigits + 8, 2),
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // The calendar rolls 31 February over into March; a date that moved was none.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) {
    throw malformed(value.offset, 'a time on a day that does not exist');
  }
  if (hour > 23 || minute > 59 || second > 59) {
    throw malformed(value.offset, 'a time of day that does not exist');
  }
  return date.getTime() / 1000 + hour * 3600 + minute * 60 + second;
}
