/**
 * The revokedCertificates of a CRL (RFC 5280 §5.1.2.6), written entry by entry. A CRL can have
 * millions of entries, so they go straight into byte chunks, with no object kept for any.
 */

import { enumerated, header, TAG, time } from './der.ts';
import { type Extension, encodeExtensions } from './extensions.ts';
import { EXTENSION_OID } from './oids.ts';
import { MAX_SERIAL_BYTES } from './serial.ts';

export interface RevokedEntry {
  /** Big-endian magnitude, at most {@link MAX_SERIAL_BYTES}. */
  serialNumber: Uint8Array;
  /** Unix seconds, whole. */
  revocationTime: number;
  /** CRLReason of RFC 5280 §5.3.1; 0 (unspecified) is left out, as that section asks. */
  reason?: number;
  /** Other entry extensions, e.g. invalidityDate; without the reason. */
  extensions?: readonly Extension[];
}

const FIRST_CHUNK = 4 << 10;
const LARGEST_CHUNK = 1 << 20;
const DAY = 86_400;
/** Days whose encoding is remembered; ten years of revocations fit. */
const DAYS_KEPT = 4096;

const NOTHING = new Uint8Array(0);

/** Collects entries in the order they are appended; the caller keeps serial numbers unique. */
export class RevokedEntriesWriter {
  readonly #full: Uint8Array[] = [];
  #fullLength = 0;
  #chunk = new Uint8Array(FIRST_CHUNK);
  #at = 0;
  #count = 0;
  // A day's TLV at midnight; an entry copies it and puts its time of day over the zeros.
  readonly #days = new Map<number, Uint8Array>();

  /** Entries appended so far. */
  get count(): number {
    return this.#count;
  }

  /** Bytes written so far. */
  get length(): number {
    return this.#fullLength + this.#at;
  }

  /**
   * Appends one entry.
   *
   * @throws RangeError for a serial number beyond {@link MAX_SERIAL_BYTES}, a time that is not a whole second of
   *   the years 0 to 9999, or a reason that RFC 5280 does not have
   */
  append({ serialNumber, revocationTime, reason, extensions }: RevokedEntry): void {
    let first = 0;
    while (first < serialNumber.length - 1 && serialNumber[first] === 0) first++;
    const signByte = serialNumber.length === 0 || (serialNumber[first] ?? 0) >= 0x80 ? 1 : 0;
    const serialLength = serialNumber.length - first + signByte;
    if (serialLength - signByte > MAX_SERIAL_BYTES) {
      throw new RangeError(`a serial number of more than ${MAX_SERIAL_BYTES} bytes`);
    }

    const day = Math.floor(revocationTime / DAY);
    const midnight = this.#days.get(day) ?? this.#encodeDay(day);
    const extras =
      reason === undefined && extensions === undefined
        ? NOTHING
        : encodeEntryExtensions(reason ?? 0, extensions ?? []);

    const length = 2 + serialLength + midnight.length + extras.length;
    this.#reserve(length + 6);
    const chunk = this.#chunk;
    let at = this.#at;
    if (length < 0x80) {
      chunk[at++] = TAG.sequence;
      chunk[at++] = length;
    } else {
      const start = header(TAG.sequence, length);
      chunk.set(start, at);
      at += start.length;
    }
    chunk[at++] = TAG.integer;
    chunk[at++] = serialLength;
    if (signByte === 1) chunk[at++] = 0;
    for (let i = first; i < serialNumber.length; i++) chunk[at++] = serialNumber[i] ?? 0;

    for (let i = 0; i < midnight.length; i++) chunk[at + i] = midnight[i] ?? 0;
    at += midnight.length;
    const second = revocationTime - day * DAY;
    if (!Number.isInteger(second)) throw new RangeError('a time that is not a whole second');
    writeTwoDigits(chunk, at - 7, Math.floor(second / 3600));
    writeTwoDigits(chunk, at - 5, Math.floor(second / 60) % 60);
    writeTwoDigits(chunk, at - 3, second % 60);

    if (extras.length > 0) chunk.set(extras, at);
    this.#at = at + extras.length;
    this.#count++;
  }

  /** Everything written, in order: the content of the SEQUENCE OF. Views that later appends leave as they are. */
  chunks(): Uint8Array[] {
    return [...this.#full, this.#chunk.subarray(0, this.#at)];
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#chunk.length) return;
    this.#full.push(this.#chunk.subarray(0, this.#at));
    this.#fullLength += this.#at;
    const next = Math.min(this.#chunk.length * 2, LARGEST_CHUNK);
    this.#chunk = new Uint8Array(Math.max(next, bytes));
    this.#at = 0;
  }

  #encodeDay(day: number): Uint8Array {
    if (!(day >= FIRST_DAY && day <= LAST_DAY)) {
      throw new RangeError('a time outside the years 0 to 9999');
    }
    if (this.#days.size === DAYS_KEPT) this.#days.clear();
    const encoded = time(day * DAY);
    this.#days.set(day, encoded);
    return encoded;
  }
}

const FIRST_DAY = Date.UTC(2000, 0, 1) / DAY / 1000 - 730_485; // 1 January of the year 0
const LAST_DAY = Date.UTC(9999, 11, 31) / DAY / 1000;

function writeTwoDigits(chunk: Uint8Array, at: number, value: number): void {
  const tens = (value / 10) | 0;
  chunk[at] = 0x30 + tens;
  chunk[at + 1] = 0x30 + value - tens * 10;
}

const reasonOnly = new Map<number, Uint8Array>();

function encodeEntryExtensions(reason: number, others: readonly Extension[]): Uint8Array {
  if (others.length > 0) {
    return encodeExtensions(reason === 0 ? others : [reasonCode(reason), ...others]);
  }
  if (reason === 0) return NOTHING;
  return reasonOnly.getOrInsertComputed(reason, () => encodeExtensions([reasonCode(reason)]));
}

function reasonCode(reason: number): Extension {
  // 7 is not used (RFC 5280 §5.3.1).
  if (!Number.isInteger(reason) || reason < 1 || reason > 10 || reason === 7) {
    throw new RangeError('no such CRLReason');
  }
  return { oid: EXTENSION_OID.reasonCode, critical: false, value: enumerated(reason) };
}
