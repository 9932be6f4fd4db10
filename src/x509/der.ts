/**
 * Writing DER (X.690). A value is built inside out: `sequence(integer(1n), utf8String('x'))`.
 * Untrusted bytes are read by `der-reader.ts`, which has the caps; nothing here reads.
 */

/** Universal tags used by X.509 (X.680 §8.6), constructed bit included where DER demands it. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  enumerated: 0x0a,
  utf8String: 0x0c,
  sequence: 0x30,
  set: 0x31,
  numericString: 0x12,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  visibleString: 0x1a,
  universalString: 0x1c,
  bmpString: 0x1e,
} as const;

/**
 * Encodes one value: tag, length in its shortest form, content.
 *
 * @param tag identifier octet; tags above 30 do not occur in X.509
 * @throws RangeError beyond 2^32 - 1 content bytes
 * @see X.690 §8.1, §10.1
 */
export function tlv(tag: number, ...parts: Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const header = lengthSize(length) + 1;
  const out = new Uint8Array(header + length);
  out[0] = tag;
  writeLength(out, 1, length);
  let at = header;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/**
 * Tag and length alone, for a value whose content stands elsewhere and is too long to be copied twice.
 *
 * @throws RangeError beyond 2^32 - 1 content bytes
 */
export function header(tag: number, length: number): Uint8Array {
  const out = new Uint8Array(lengthSize(length) + 1);
  out[0] = tag;
  writeLength(out, 1, length);
  return out;
}

function lengthSize(length: number): number {
  if (length < 0x80) return 1;
  if (length <= 0xff) return 2;
  if (length <= 0xffff) return 3;
  if (length <= 0xffffff) return 4;
  if (length <= 0xffffffff) return 5;
  throw new RangeError('DER value of more than 2^32 - 1 bytes');
}

function writeLength(out: Uint8Array, at: number, length: number): void {
  const size = lengthSize(length);
  if (size === 1) {
    out[at] = length;
    return;
  }
  out[at] = 0x80 | (size - 1);
  for (let i = size - 1, rest = length; i >= 1; i--) {
    out[at + i] = rest & 0xff;
    rest = Math.floor(rest / 256);
  }
}

export const sequence = (...parts: Uint8Array[]): Uint8Array => tlv(TAG.sequence, ...parts);

/** SET OF: DER sorts the encodings as byte strings (X.690 §11.6). */
export const setOf = (...parts: Uint8Array[]): Uint8Array =>
  tlv(TAG.set, ...(parts.length > 1 ? [...parts].sort(Buffer.compare) : parts));

/** `[number]` constructed: explicit tagging, or an implicitly tagged SEQUENCE's content. */
export const contextConstructed = (number: number, ...parts: Uint8Array[]): Uint8Array =>
  tlv(0xa0 | number, ...parts);

/** `[number]` primitive: an implicitly tagged primitive type's content. */
export const contextPrimitive = (number: number, content: Uint8Array): Uint8Array =>
  tlv(0x80 | number, content);

/** INTEGER from a whole number of any sign. */
export function integer(value: number | bigint): Uint8Array {
  if (value >= 0 && value < 0x80) return Uint8Array.of(TAG.integer, 1, Number(value));
  let rest = BigInt(value);
  const bytes: number[] = [];
  do {
    bytes.unshift(Number(rest & 0xffn));
    rest >>= 8n;
  } while (rest !== 0n && rest !== -1n);
  const top = bytes[0] ?? 0;
  if (rest === 0n && top >= 0x80) bytes.unshift(0);
  if (rest === -1n && top < 0x80) bytes.unshift(0xff);
  return tlv(TAG.integer, Uint8Array.from(bytes));
}

/** All but the zeros that a big-endian magnitude begins with; of zero itself one is left. */
export function withoutLeadingZeros(magnitude: Uint8Array): Uint8Array {
  let start = 0;
  while (start < magnitude.length - 1 && magnitude[start] === 0) start++;
  return magnitude.subarray(start);
}

/** An INTEGER from its big-endian magnitude; leading zeros are dropped, a sign byte added. */
export function unsignedInteger(magnitude: Uint8Array): Uint8Array {
  const bytes = withoutLeadingZeros(magnitude);
  return (bytes[0] ?? 0) >= 0x80
    ? tlv(TAG.integer, Uint8Array.of(0), bytes)
    : tlv(TAG.integer, bytes.length === 0 ? Uint8Array.of(0) : bytes);
}

export const boolean = (value: boolean): Uint8Array => Uint8Array.of(0x01, 0x01, value ? 0xff : 0);
export const nullValue = (): Uint8Array => Uint8Array.of(0x05, 0x00);
export const octetString = (content: Uint8Array): Uint8Array => tlv(TAG.octetString, content);
export const enumerated = (value: number): Uint8Array => Uint8Array.of(0x0a, 0x01, value);

/** BIT STRING whose bits fill whole bytes, as keys and signatures do. */
export const bitString = (content: Uint8Array, unusedBits = 0): Uint8Array =>
  tlv(TAG.bitString, Uint8Array.of(unusedBits), content);

/**
 * BIT STRING of named bits, trailing zero bits left out.
 *
 * @param bits numbers of the bits that are set, e.g. `[0, 2]` for digitalSignature and keyEncipherment
 * @see X.690 §11.2.2
 */
export function namedBitString(bits: readonly number[]): Uint8Array {
  if (bits.length === 0) return bitString(new Uint8Array(0));
  const last = Math.max(...bits);
  const bytes = new Uint8Array(Math.floor(last / 8) + 1);
  for (const bit of bits) {
    const index = Math.floor(bit / 8);
    bytes[index] = (bytes[index] ?? 0) | (0x80 >> (bit % 8));
  }
  return bitString(bytes, 7 - (last % 8));
}

const OID_TEXT = /^[0-2](\.(0|[1-9]\d{0,38})){1,63}$/;
const oidCache = new Map<string, Uint8Array>();
const MAX_OID_BYTES = 128;
const MAX_ARC = (1n << 128n) - 1n;

/**
 * Says whether a text is an object identifier in dotted form that {@link oid} can encode:
 * at most 64 arcs of at most 128 bits, 128 bytes in all. The reader has the same bounds.
 */
export function isOid(text: string): boolean {
  return oidCache.has(text) || encodeArcs(text) !== undefined;
}

function encodeArcs(text: string): number[] | undefined {
  if (!OID_TEXT.test(text)) return undefined;
  const [root = '', second = '', ...others] = text.split('.');
  if (root !== '2' && (second.length > 2 || Number(second) >= 40)) return undefined;
  const content: number[] = [];
  const first = BigInt(root) * 40n + BigInt(second);
  if (!appendArc(content, first)) return undefined;
  for (const arc of others) {
    // Most arcs are short, and a number is encoded in a fraction of the time.
    if (!appendArc(content, arc.length <= 15 ? Number(arc) : BigInt(arc))) return undefined;
  }
  return content.length > MAX_OID_BYTES ? undefined : content;
}

/** @returns false for an arc of more than 128 bits; nothing is appended then */
function appendArc(content: number[], arc: number | bigint): boolean {
  const bytes: number[] = [];
  if (typeof arc === 'number') {
    for (let rest = arc; ; rest = Math.floor(rest / 128)) {
      bytes.push((rest % 128) | (bytes.length > 0 ? 0x80 : 0));
      if (rest < 128) break;
    }
  } else {
    if (arc > MAX_ARC) return false;
    for (let rest = arc; ; rest >>= 7n) {
      bytes.push(Number(rest & 0x7fn) | (bytes.length > 0 ? 0x80 : 0));
      if (rest < 128n) break;
    }
  }
  content.push(...bytes.reverse());
  return true;
}

/** OBJECT IDENTIFIER from its dotted form. @throws RangeError when {@link isOid} would say no */
export function oid(text: string): Uint8Array {
  const known = oidCache.get(text);
  if (known) return known;
  const content = encodeArcs(text);
  if (!content) throw new RangeError('not an object identifier');
  const encoded = tlv(TAG.oid, Uint8Array.from(content));
  // Only our own constants repeat; a bound keeps hostile input from growing the table.
  if (oidCache.size < 512) oidCache.set(text, encoded);
  return encoded;
}

const encoder = new TextEncoder();
const PRINTABLE = /^[A-Za-z0-9 '()+,\-./:=?]*$/;

export const utf8String = (text: string): Uint8Array => tlv(TAG.utf8String, encoder.encode(text));
export const ia5String = (text: string): Uint8Array => tlv(TAG.ia5String, encoder.encode(text));

/** PrintableString where its alphabet allows, else UTF8String (RFC 5280 §4.1.2.4). */
export const directoryString = (text: string): Uint8Array =>
  PRINTABLE.test(text)
    ? tlv(TAG.printableString, latin1Bytes(text))
    : tlv(TAG.utf8String, encoder.encode(text));

/** Longer texts are for the library, which is slower to begin. */
const SHORT_TEXT = 64;

/** The bytes of a text that has one in each unit, as those of ASCII do. */
export function latin1Bytes(text: string): Uint8Array {
  if (text.length > SHORT_TEXT) return Buffer.from(text, 'latin1');
  const bytes = new Uint8Array(text.length);
  for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
  return bytes;
}

/**
 * Time of RFC 5280 §4.1.2.5: UTCTime through 2049, GeneralizedTime from 2050.
 *
 * @param seconds Unix time, whole seconds, up to 9999-12-31T23:59:59Z
 */
export function time(seconds: number): Uint8Array {
  const date = new Date(seconds * 1000);
  const year = date.getUTCFullYear();
  return year >= 1950 && year < 2050
    ? tlv(TAG.utcTime, digits(year % 100, ...clock(date)))
    : generalizedTime(seconds);
}

/**
 * GeneralizedTime without fraction, as RFC 5280 §4.1.2.5.2 and RFC 6960 §4.2.2.1 want it.
 *
 * @param seconds Unix time, whole seconds, year 0 to 9999
 * @throws RangeError outside that
 */
export function generalizedTime(seconds: number): Uint8Array {
  const date = new Date(seconds * 1000);
  const year = date.getUTCFullYear();
  if (!(year >= 0 && year <= 9999)) throw new RangeError('a time outside the years 0 to 9999');
  return tlv(TAG.generalizedTime, digits(Math.floor(year / 100), year % 100, ...clock(date)));
}

const clock = (date: Date): number[] => [
  date.getUTCMonth() + 1,
  date.getUTCDate(),
  date.getUTCHours(),
  date.getUTCMinutes(),
  date.getUTCSeconds(),
];

/** Each number as two digits, and the letter that says UTC. */
function digits(...numbers: number[]): Uint8Array {
  const text = new Uint8Array(2 * numbers.length + 1);
  let at = 0;
  for (const number of numbers) {
    text[at] = 0x30 + Math.floor(number / 10);
    text[at + 1] = 0x30 + (number % 10);
    at += 2;
  }
  text[at] = 0x5a;
  return text;
}
