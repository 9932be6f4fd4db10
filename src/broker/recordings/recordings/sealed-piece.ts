import { createHash, timingSafeEqual } from 'node:crypto';
import {
  ENVELOPE_OVERHEAD,
  type EnvelopeContext,
  openEnvelope,
  sealEnvelope,
} from '../../../barrier/envelope.ts';

/**
 * The form of every file of a recording: pieces, one after the other, each of which names the one before it.
 *
 *     length    4 bytes, big endian: of all that follows
 *     version   1 byte, 1
 *     last      1 byte: 1 if nothing follows, else 0
 *     previous  32 bytes: SHA-256 of the piece before it, its length included; of the first one see {@link pieceStart}
 *     envelope  AES-256-GCM with the data key of the recording, as in `barrier/envelope.ts`
 *
 * What comes before the envelope, the file and the number of the piece are authenticated with it: a piece that
 * was changed, moved, left out or taken from another file does not open, and a file whose last piece is missing
 * was cut.
 */
const VERSION = 1;
const LENGTH = 4;
const HASH = 32;
const HEAD = 2 + HASH;
/** Bytes of the content of one piece. */
export const MOST_CONTENT = 1 << 20;
const MOST_PIECE = HEAD + ENVELOPE_OVERHEAD + MOST_CONTENT;

/** Which file of which recording. */
export interface RecordedFile {
  recording_id: string;
  /** Of a channel recording, or of a connection recording, whose file is its index. */
  id: string;
}

/** Where the chain of a file stands. */
export interface PieceHead {
  /** How many pieces there are. */
  pieces: number;
  hash: Uint8Array;
}

/** The head of a file without pieces: no piece of one file can be passed off as another's. */
export function pieceStart({ recording_id, id }: RecordedFile): PieceHead {
  const hash = createHash('sha256').update(`gatehouse recording\0${recording_id}\0${id}`).digest();
  return { pieces: 0, hash };
}

/** @returns the piece as it is stored, and where the chain stands with it */
export function sealPiece(
  file: RecordedFile,
  head: PieceHead,
  input: { key: Uint8Array; nonce: Uint8Array; content: Uint8Array; is_last: boolean },
): { bytes: Uint8Array; head: PieceHead } {
  const { key, nonce, content, is_last } = input;
  if (content.length > MOST_CONTENT) throw new RangeError('a piece has at most 1 MiB');
  const place = placeOf(file, head, is_last);
  const sealed = sealEnvelope({ key, key_id: 0, nonce, place, plaintext: content });
  const bytes = Buffer.alloc(LENGTH + HEAD + sealed.length);
  bytes.writeUInt32BE(HEAD + sealed.length);
  bytes[LENGTH] = VERSION;
  bytes[LENGTH + 1] = is_last ? 1 : 0;
  bytes.set(head.hash, LENGTH + 2);
  bytes.set(sealed, LENGTH + HEAD);
  return { bytes, head: nextHead(head, bytes) };
}

const placeOf = (file: RecordedFile, head: PieceHead, is_last: boolean): EnvelopeContext => ({
  table: file.recording_id,
  column: file.id,
  row: `${head.pieces}/${is_last ? 'last' : 'more'}/${Buffer.from(head.hash).toString('hex')}`,
});

const nextHead = (head: PieceHead, bytes: Uint8Array): PieceHead => ({
  pieces: head.pieces + 1,
  hash: createHash('sha256').update(bytes).digest(),
});

/** What is wrong with a file. */
export class FileFault extends Error {
  /** The piece that is not as it was written, from 0. */
  readonly piece: number;

  constructor(piece: number, because: string) {
    super(`piece ${piece}: ${because}`);
    this.name = 'FileFault';
    this.piece = piece;
  }
}

/**
 * Opens the pieces of a file in turn, and tells whether it is whole.
 *
 * @param file.key of the recording
 * @param file.end where the chain stood when it was written last, as it was noted elsewhere
 * @param file.is_closed whether its last piece was written
 * @throws FileFault at the first piece that is not as it was written
 */
export async function* openPieces(
  bytes: AsyncIterable<Uint8Array>,
  file: RecordedFile & { key: Uint8Array; end: PieceHead; is_closed: boolean },
): AsyncGenerator<Uint8Array, void, undefined> {
  let head = pieceStart(file);
  let isLast = false;
  // One that was being written when the server was killed was never noted.
  const mayBeCut = (): boolean => !file.is_closed && head.pieces >= file.end.pieces;
  for await (const piece of framed(bytes, () => head.pieces, mayBeCut)) {
    if (isLast) throw new FileFault(head.pieces, 'it comes after the last one');
    const opened = openPiece(file, head, piece);
    isLast = opened.is_last;
    head = nextHead(head, piece);
    yield opened.content;
  }
  // One that was written and not noted, when the server was killed in between, is told by its seal.
  const isNoted = head.pieces === file.end.pieces && isSame(head.hash, file.end.hash);
  if (!isNoted && (file.is_closed || head.pieces < file.end.pieces)) {
    throw new FileFault(Math.min(head.pieces, file.end.pieces), 'it is missing');
  }
  if (file.is_closed && !isLast) throw new FileFault(head.pieces, 'it is missing, the last one');
}

function openPiece(
  file: RecordedFile & { key: Uint8Array },
  head: PieceHead,
  piece: Buffer,
): { content: Uint8Array; is_last: boolean } {
  const at = head.pieces;
  const flag = piece[LENGTH + 1];
  if (piece[LENGTH] !== VERSION || (flag !== 0 && flag !== 1)) {
    throw new FileFault(at, 'it is none of this version');
  }
  if (!isSame(piece.subarray(LENGTH + 2, LENGTH + HEAD), head.hash)) {
    throw new FileFault(at, 'it does not follow from the one before it');
  }
  const is_last = flag === 1;
  const sealed = piece.subarray(LENGTH + HEAD);
  const content = openEnvelope({ key: file.key, place: placeOf(file, head, is_last), sealed });
  if (!content) throw new FileFault(at, 'it was changed');
  return { content, is_last };
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && timingSafeEqual(a, b);

/** The pieces in a stream of bytes, each with its length. Each byte is copied twice at most. */
async function* framed(
  bytes: AsyncIterable<Uint8Array>,
  at: () => number,
  mayBeCut: () => boolean,
): AsyncGenerator<Buffer, void, undefined> {
  let parts: Uint8Array[] = [];
  let length = 0;
  let wanted = LENGTH;
  for await (const part of bytes) {
    parts.push(part);
    length += part.length;
    while (length >= wanted) {
      const all = joined(parts);
      if (wanted === LENGTH) {
        wanted = LENGTH + all.readUInt32BE();
        if (wanted > LENGTH + MOST_PIECE || wanted < LENGTH + HEAD + ENVELOPE_OVERHEAD) {
          throw new FileFault(at(), 'it has no length that a piece has');
        }
        parts = [all];
        continue;
      }
      yield all.subarray(0, wanted);
      const rest = all.subarray(wanted);
      parts = rest.length > 0 ? [rest] : [];
      length = rest.length;
      wanted = LENGTH;
    }
  }
  if (length > 0 && !mayBeCut()) throw new FileFault(at(), 'it was cut');
}

/** One that is alone is not copied: it may have many pieces in it. */
function joined(parts: readonly Uint8Array[]): Buffer {
  const [first, second] = parts;
  if (!first || second) return Buffer.concat(parts);
  return Buffer.from(first.buffer, first.byteOffset, first.length);
}
