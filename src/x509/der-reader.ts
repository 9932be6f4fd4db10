/**
 * Reading DER (X.690) that nobody vouches for. Every byte string either reads or throws a
 * {@link DerError}, in time linear in its length: values are views into the input, one level
 * is split at a time, and size, depth, counts and identifiers are capped.
 */

import { Failure } from '../core/failure.ts';
import { TAG } from './der.ts';

/** Largest input that is looked at unless the caller says otherwise, in bytes. */
const MAX_DER_BYTES = 1 << 20;
/** Deepest nesting of constructed values; X.509 needs about ten. */
export const MAX_DER_DEPTH = 32;
/** Most values directly inside one that {@link children} returns; longer lists are walked by {@link eachChild}. */
export const MAX_DER_CHILDREN = 10_000;

const MAX_OID_BYTES = 128;
const MAX_OID_ARCS = 64;

/** The bytes are not DER, or not the DER that was expected. A refusal of the input, never a bug. */
export class DerError extends Failure {
  constructor(message: string, cause?: unknown) {
    super('invalid', message, cause === undefined ? {} : { cause });
    this.name = 'DerError';
  }
}

/**
 * One value. `content` and `raw` are views into the input, so it must not be changed meanwhile. Each is made
 * when it is asked for: most values are asked for one of them or none, and two took half of the time of
 * reading a value.
 */
export class DerValue {
  /** Identifier octet: class, constructed bit and number (never above 30). */
  readonly tag: number;
  /** Where the identifier octet stands in the bytes given to {@link readDer}. */
  readonly offset: number;
  /** 0 for the outermost value. */
  readonly depth: number;
  /** All bytes given to {@link readDer}. */
  readonly bytes: Uint8Array;
  /** Where the content begins in them, and where it ends. */
  readonly start: number;
  readonly end: number;

  constructor(
    bytes: Uint8Array,
    place: { tag: number; offset: number; depth: number; start: number; end: number },
  ) {
    this.tag = place.tag;
    this.offset = place.offset;
    this.depth = place.depth;
    this.bytes = bytes;
    this.start = place.start;
    this.end = place.end;
  }

  get content(): Uint8Array {
    return this.bytes.subarray(this.start, this.end);
  }

  /** Identifier, length and content. */
  get raw(): Uint8Array {
    return this.bytes.subarray(this.offset, this.end);
  }
}

function malformed(offset: number, what: string): DerError {
  return new DerError(`malformed DER at byte ${offset}: ${what}`);
}

// SEQUENCE, SET, EXTERNAL, EMBEDDED PDV and CHARACTER STRING: the universal types that are constructed in DER.
const CONSTRUCTED_NUMBERS = bitsOf(0x08, 0x0b, 0x10, 0x11, 0x1d);

function bitsOf(...numbers: readonly number[]): number {
  return numbers.reduce((bits, number) => bits | (1 << number), 0);
}

/** @param limit where what the value lies in ends */
function readValue(bytes: Uint8Array, offset: number, limit: number, depth: number): DerValue {
  const tag = bytes[offset];
  const first = bytes[offset + 1];
  if (tag === undefined || first === undefined || offset + 2 > limit) {
    throw malformed(offset, 'it ends inside a header');
  }
  if ((tag & 0x1f) === 0x1f) throw malformed(offset, 'a tag number above 30');
  if (tag < 0x40) {
    if (tag === 0) throw malformed(offset, 'an end-of-contents marker');
    // X.690 §10.2: strings are never split into parts, and a SEQUENCE always is.
    if (((CONSTRUCTED_NUMBERS >>> (tag & 0x1f)) & 1) !== tag >> 5) {
      throw malformed(offset, `tag 0x${tag.toString(16)} with the wrong constructed bit`);
    }
  }
  let length = first;
  let start = offset + 2;
  if (first >= 0x80) {
    if (first === 0x80) throw malformed(offset, 'an indefinite length');
    const size = first & 0x7f;
    if (size > 4) throw malformed(offset, 'a length of more than 4 bytes');
    if (start < limit && bytes[start] === 0) {
      throw malformed(offset, 'a length that is not in its shortest form');
    }
    if (start + size > limit) throw malformed(offset, 'it ends inside a header');
    length = 0;
    for (let i = 0; i < size; i++) length = length * 256 + (bytes[start + i] ?? 0);
    if (length < 0x80) throw malformed(offset, 'a length that is not in its shortest form');
    start += size;
  }
  const end = start + length;
  if (end > limit) throw malformed(offset, 'a length that reaches beyond the end');
  return new DerValue(bytes, { tag, offset, depth, start, end });
}

/**
 * Reads exactly one value.
 *
 * @param maxBytes refuse anything longer before looking at it
 * @throws DerError also for bytes after the value, indefinite or over-long lengths, tags above 30
 * @see X.690 §10.1
 */
export function readDer(bytes: Uint8Array, maxBytes: number = MAX_DER_BYTES): DerValue {
  if (bytes.length > maxBytes) {
    throw new DerError(`${bytes.length} bytes of DER, at most ${maxBytes} are accepted`);
  }
  if (bytes.length === 0) throw new DerError('no DER at all');
  const value = readValue(bytes, 0, bytes.length, 0);
  if (value.end !== bytes.length) throw malformed(value.end, 'bytes after the end of the value');
  return value;
}

/** Walks the values directly inside a constructed one, however many; for lists such as a CRL's. */
export function* eachChild(value: DerValue): Generator<DerValue, void, undefined> {
  const { bytes, end, depth } = value;
  for (let at = startOfChildren(value); at < end; ) {
    const child = readValue(bytes, at, end, depth + 1);
    yield child;
    at = child.end;
  }
}

/** The values directly inside a constructed one, at most {@link MAX_DER_CHILDREN}. */
export function children(value: DerValue): DerValue[] {
  const { bytes, end, depth } = value;
  const found: DerValue[] = [];
  for (let at = startOfChildren(value); at < end; ) {
    if (found.length === MAX_DER_CHILDREN) {
      throw malformed(value.offset, `more than ${MAX_DER_CHILDREN} values in a list`);
    }
    const child = readValue(bytes, at, end, depth + 1);
    found.push(child);
    at = child.end;
  }
  return found;
}

function startOfChildren(value: DerValue): number {
  if ((value.tag & 0x20) === 0)
    throw malformed(value.offset, 'a primitive value where a list is expected');
  if (value.depth >= MAX_DER_DEPTH) {
    throw malformed(value.offset, `nesting deeper than ${MAX_DER_DEPTH}`);
  }
  return value.start;
}

/** The only value inside a constructed one, as in explicit tagging. */
export function onlyChild(value: DerValue): DerValue {
  const [child, second] = children(value);
  if (!child || second) throw malformed(value.offset, 'not exactly one value inside');
  return child;
}

/** The value itself if it has this tag. */
export function expect(value: DerValue | undefined, tag: number): DerValue {
  if (value === undefined)
    throw new DerError(`malformed DER: tag 0x${tag.toString(16)} is missing`);
  if (value.tag !== tag) {
    throw malformed(
      value.offset,
      `tag 0x${value.tag.toString(16)} instead of 0x${tag.toString(16)}`,
    );
  }
  return value;
}

/** The fields of a SEQUENCE, taken in order; {@link DerFields.end} refuses what is left over. */
export class DerFields {
  readonly #owner: DerValue;
  readonly #values: DerValue[];
  #next = 0;

  constructor(value: DerValue, tag: number = TAG.sequence) {
    this.#owner = expect(value, tag);
    this.#values = children(value);
  }

  /** The next field's tag, undefined at the end. */
  get tag(): number | undefined {
    return this.#values[this.#next]?.tag;
  }

  /** The next field, of this tag, or of any when none is given. */
  take(tag?: number): DerValue {
    const value = this.#values[this.#next];
    if (!value) throw malformed(this.#owner.offset, 'a field is missing');
    this.#next++;
    return tag === undefined ? value : expect(value, tag);
  }

  /** The next field if it has this tag; else nothing is taken. */
  takeIf(tag: number): DerValue | undefined {
    return this.tag === tag ? this.take() : undefined;
  }

  end(): void {
    const value = this.#values[this.#next];
    if (value) throw malformed(value.offset, 'an unexpected field');
  }
}

/** Walks a value to its leaves, for bytes that are passed on without being understood. */
export function requireWellFormed(value: DerValue): void {
  if ((value.tag & 0x20) === 0) return;
  const { bytes, end, depth } = value;
  for (let at = startOfChildren(value); at < end; ) {
    const child = readValue(bytes, at, end, depth + 1);
    requireWellFormed(child);
    at = child.end;
  }
}

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

export interface BitString {
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

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const utf16 = new TextDecoder('utf-16be', { fatal: true, ignoreBOM: true });

// X.680 §41.4, with "*" and "&", which so many certificates carry that everybody reads them.
const PRINTABLE = /^[A-Za-z0-9 '()+,\-./:=?*&]*$/;

/**
 * A character string of any type that certificates use, as text. NUL is refused in all of them:
 * no name has it, and it has been used to make two readers see two names.
 */
export function readString(value: DerValue): string {
  const text = decodeString(value);
  if (text === undefined)
    throw malformed(value.offset, 'a string with characters its type does not have');
  if (text.includes('\0')) throw malformed(value.offset, 'a string with a NUL character');
  return text;
}

/** ASCII text of an implicitly tagged IA5String. */
export function readAscii(value: DerValue): string {
  const { content } = value;
  for (const byte of content) {
    if (byte === 0 || byte >= 0x80)
      throw malformed(value.offset, 'a string with characters its type does not have');
  }
  return latin1(content);
}

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

function decodeString({ tag, content, offset }: DerValue): string | undefined {
  switch (tag) {
    case TAG.utf8String:
      return decodeUnicode(utf8, content);
    case TAG.printableString: {
      const text = latin1(content);
      return PRINTABLE.test(text) ? text : undefined;
    }
    case TAG.numericString: {
      const text = latin1(content);
      return /^[0-9 ]*$/.test(text) ? text : undefined;
    }
    case TAG.ia5String:
    case TAG.visibleString:
      return content.every((byte) => byte < 0x80) ? latin1(content) : undefined;
    case TAG.teletexString:
      // T.61 in the standard, ISO 8859-1 in every certificate that uses it.
      return latin1(content);
    case TAG.bmpString:
      return decodeUnicode(utf16, content);
    case TAG.universalString:
      return decodeUniversal(content);
    default:
      throw malformed(offset, `tag 0x${tag.toString(16)} where a string is expected`);
  }
}

function decodeUnicode(decoder: TextDecoder, content: Uint8Array): string | undefined {
  try {
    return decoder.decode(content);
  } catch {
    return undefined;
  }
}

function decodeUniversal(content: Uint8Array): string | undefined {
  if (content.length % 4 !== 0) return undefined;
  const view = new DataView(content.buffer, content.byteOffset, content.length);
  let text = '';
  for (let at = 0; at < content.length; at += 4) {
    const point = view.getUint32(at);
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return undefined;
    text += String.fromCodePoint(point);
  }
  return text;
}
