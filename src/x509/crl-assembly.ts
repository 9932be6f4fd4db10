/**
 * Putting a CRL of any length together in one piece of memory: its entries are written, or
 * merged with those of the CRL before it, where they will stand in the end, and nothing of
 * them is copied again.
 */

import { algorithmIdentifier, type SignatureAlgorithm } from './algorithms.ts';
import type { CrlFrame } from './crl.ts';
import { bitString, header, TAG } from './der.ts';
import type { RevokedEntriesWriter } from './revoked-certificates.ts';

/** A CRL that is whole. */
export interface AssembledCrl {
  /** The CertificateList. */
  der: Uint8Array;
  /** Where the content of revokedCertificates stands in `der`. */
  entries_at: number;
  entries_length: number;
  /** How many entries there are. */
  count: number;
}

/** A CRL whose signature is still missing. */
export interface UnsignedCrl {
  /** TBSCertList, to be signed. */
  tbs: Uint8Array;
  /** Where everything stands, for {@link attachSignature} on another thread. */
  layout: CrlLayout;
  /** Puts the signature to it. */
  attachSignature(algorithm: SignatureAlgorithm, signature: Uint8Array): AssembledCrl;
}

/** A laid-out CRL as bare values. */
export interface CrlLayout {
  /** The header of the CertificateList, TBSCertList, and room for the signature. */
  room: Uint8Array;
  tbs_length: number;
  /** Where the content of revokedCertificates stands in `room`. */
  entries_at: number;
  entries_length: number;
  count: number;
}

/** Room for the header of the CertificateList, whose length is known last. */
const HEADER_ROOM = 6;

/**
 * Lays out a CRL.
 *
 * @param added new entries in the order of their serial numbers' bytes
 * @param basis a CRL that has all the other entries, in the same order, none of them in `added`; and those of its own that
 *   are not wanted any more, as they stand there
 * @param allocate gives memory filled with zeros, which the CRL then lives in
 * @param tail_room for the algorithm and the signature; see `signatureRoom`
 */
export function layOutCrl(
  frame: CrlFrame,
  added: RevokedEntriesWriter,
  basis: { crl: AssembledCrl; removed: RevokedEntriesWriter } | undefined,
  allocate: (length: number) => Uint8Array,
  tail_room: number,
): UnsignedCrl {
  const { crl, removed } = basis ?? {};
  const count = added.count + (crl?.count ?? 0) - (removed?.count ?? 0);
  const entries_length = added.length + (crl?.entries_length ?? 0) - (removed?.length ?? 0);
  const entriesHeader = count === 0 ? new Uint8Array(0) : header(TAG.sequence, entries_length);
  const content_length =
    frame.before.length + entriesHeader.length + entries_length + frame.after.length;
  const tbsHeader = header(TAG.sequence, content_length);
  const tbsLength = tbsHeader.length + content_length;

  const room = allocate(HEADER_ROOM + tbsLength + tail_room);
  let at = HEADER_ROOM;
  for (const part of [tbsHeader, frame.before, entriesHeader]) {
    room.set(part, at);
    at += part.length;
  }
  const entriesAt = at;
  const into = room.subarray(at, at + entries_length);
  if (crl && removed && added.count + removed.count > 0) {
    mergeEntries(
      entriesOf(crl),
      { added: concatenate(added), removed: concatenate(removed) },
      into,
    );
  } else if (crl) {
    into.set(entriesOf(crl));
  } else {
    writeChunks(added, into);
  }
  room.set(frame.after, entriesAt + entries_length);
  const layout = { room, tbs_length: tbsLength, entries_at: entriesAt, entries_length, count };
  return {
    tbs: tbsOf(layout),
    layout,
    attachSignature: (algorithm, signature) => attachSignature(layout, algorithm, signature),
  };
}

/** The TBSCertList of a laid-out CRL. */
export function tbsOf({ room, tbs_length }: CrlLayout): Uint8Array {
  return room.subarray(HEADER_ROOM, HEADER_ROOM + tbs_length);
}

/** Puts a signature to a laid-out CRL, in its room. */
export function attachSignature(
  { room, tbs_length, entries_at, entries_length, count }: CrlLayout,
  algorithm: SignatureAlgorithm,
  signature: Uint8Array,
): AssembledCrl {
  let end = HEADER_ROOM + tbs_length;
  for (const part of [algorithmIdentifier(algorithm), bitString(signature)]) {
    room.set(part, end);
    end += part.length;
  }
  const outer = header(TAG.sequence, end - HEADER_ROOM);
  const start = HEADER_ROOM - outer.length;
  room.set(outer, start);
  return { der: room.subarray(start, end), entries_at: entries_at - start, entries_length, count };
}

function entriesOf({ der, entries_at, entries_length }: AssembledCrl): Uint8Array {
  return der.subarray(entries_at, entries_at + entries_length);
}

function concatenate(writer: RevokedEntriesWriter): Uint8Array {
  const whole = new Uint8Array(writer.length);
  writeChunks(writer, whole);
  return whole;
}

function writeChunks(writer: RevokedEntriesWriter, into: Uint8Array): void {
  let at = 0;
  for (const chunk of writer.chunks()) {
    into.set(chunk, at);
    at += chunk.length;
  }
}

/**
 * Merges two runs of entries, each in the order of its serial numbers' bytes, into a third, without those of a run that is
 * part of the first.
 *
 * @param into exactly as long as what is left of both together
 */
function mergeEntries(
  old: Uint8Array,
  { added, removed }: { added: Uint8Array; removed: Uint8Array },
  into: Uint8Array,
): void {
  let from = 0;
  let to = 0;
  let oldAt = 0;
  let gone = 0;
  const copyOld = (): void => {
    into.set(old.subarray(from, oldAt), to);
    to += oldAt - from;
    from = oldAt;
  };
  const passOne = (): void => {
    const end = endOf(old, oldAt);
    if (gone < removed.length && startsWith(old, oldAt, removed, gone)) {
      copyOld();
      from = end;
      gone = endOf(removed, gone);
    }
    oldAt = end;
  };
  for (let next = 0; next < added.length; ) {
    const nextEnd = endOf(added, next);
    while (oldAt < old.length && comesBefore(old, oldAt, added, next)) passOne();
    copyOld();
    into.set(added.subarray(next, nextEnd), to);
    to += nextEnd - next;
    next = nextEnd;
  }
  while (gone < removed.length && oldAt < old.length) passOne();
  if (gone < removed.length) throw new Error('an entry to be removed from a CRL is not on it');
  oldAt = old.length;
  copyOld();
}

/** Whether the entry at a place is the one of another run; most differ in their first bytes. */
function startsWith(bytes: Uint8Array, at: number, run: Uint8Array, entry: number): boolean {
  const length = endOf(run, entry) - entry;
  for (let i = 0; i < length; i++) if (bytes[at + i] !== run[entry + i]) return false;
  return true;
}

/** Where the value that begins at `at` ends; for bytes of our own, which are known to be sound. */
function endOf(bytes: Uint8Array, at: number): number {
  const first = bytes[at + 1] ?? 0;
  if (first < 0x80) return at + 2 + first;
  let length = 0;
  const size = first & 0x7f;
  for (let i = 0; i < size; i++) length = length * 256 + (bytes[at + 2 + i] ?? 0);
  return at + 2 + size + length;
}

/** Compares the serial numbers of two entries as the text forms of them compare. */
function comesBefore(a: Uint8Array, aAt: number, b: Uint8Array, bAt: number): boolean {
  let i = serialAt(a, aAt);
  let j = serialAt(b, bAt);
  const aEnd = i + 1 + (a[i] ?? 0);
  const bEnd = j + 1 + (b[j] ?? 0);
  i += 1;
  j += 1;
  // A zero before a high bit is the encoding's, not the number's.
  if (aEnd - i > 1 && a[i] === 0) i += 1;
  if (bEnd - j > 1 && b[j] === 0) j += 1;
  for (; i < aEnd && j < bEnd; i++, j++) {
    const difference = (a[i] ?? 0) - (b[j] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return aEnd - i < bEnd - j;
}

/** Where the length octet of an entry's serial number stands; serial numbers are short. */
function serialAt(bytes: Uint8Array, at: number): number {
  const first = bytes[at + 1] ?? 0;
  return at + 3 + (first < 0x80 ? 0 : first & 0x7f);
}
