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

export function malformed(offset: number, what: string): DerError {
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
