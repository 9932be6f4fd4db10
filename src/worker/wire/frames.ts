import { unmask } from './unmask.ts';

const OPCODE = { continuation: 0, binary: 2 } as const;
const FIRST_CONTROL = 8;
const FINAL = 0x80;
const NO_LENGTH = 0x80;
const RESERVED = 0x70;
const MASKED = 0x80;
/** Two bytes, eight more of length at most, and four of the mask. */
const MOST_HEAD = 14;

/** What becomes of what a client sends. */
export interface FrameSink {
  /** A piece of a binary message, without its mask; of a message of any length. */
  piece(bytes: Buffer<ArrayBuffer>, isEnd: boolean): void;
  /** All other frames as they came, heads and masks included, and everything once something is not as it should be. */
  other(bytes: Buffer<ArrayBuffer>): void;
}

/**
 * Takes the payload of binary messages out of a client's frames (RFC 6455 §5.2) as it comes, without waiting for whole
 * ones and without copying. Other frames, which are few and short, are passed on for a library to judge.
 */
export class BinaryFrames {
  readonly #sink: FrameSink;
  /** Of the frame that is under way, its head as far as it has come. */
  readonly #head = Buffer.alloc(MOST_HEAD);
  #known = 0;
  /** Bytes that are missing of its payload. */
  #left = 0;
  #isBinary = false;
  #isFinal = false;
  #mask = 0;
  #phase = 0;
  /** A binary message is under way, whose next frame is a continuation. */
  #inMessage = false;
  /** From here on everything is passed on. */
  #isGivenUp = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  add(bytes: Buffer<ArrayBuffer>): void {
    let at = 0;
    while (at < bytes.length && !this.#isGivenUp) {
      if (this.#left === 0) at += this.#addToHead(bytes, at);
      else {
        const end = Math.min(bytes.length, at + this.#left);
        this.#take(bytes.subarray(at, end));
        at = end;
      }
    }
    if (at < bytes.length) this.#sink.other(bytes.subarray(at));
  }

  /** @returns how many bytes of it belong to the head */
  #addToHead(bytes: Buffer<ArrayBuffer>, from: number): number {
    const head = this.#head;
    const before = this.#known;
    const copied = bytes.copy(head, before, from, from + MOST_HEAD - before);
    const known = before + copied;
    if (known >= 2 && this.#isFaulty(known)) {
      this.#isGivenUp = true;
      this.#sink.other(Buffer.from(head.subarray(0, known)));
      return copied;
    }
    const length = headLength(head, known);
    if (length === undefined || known < length) {
      this.#known = known;
      return copied;
    }
    this.#known = 0;
    this.#begin(length);
    return length - before;
  }

  #isFaulty(known: number): boolean {
    const [first = 0, second = 0, third = 0] = this.#head;
    const opcode = first & 15;
    // Another message amid one: only control frames may come there.
    const isAmid = this.#inMessage && opcode !== OPCODE.continuation && opcode < FIRST_CONTROL;
    // The highest bit of a long length is none of it.
    const isNoLength = known > 2 && (second & 127) === 127 && (third & NO_LENGTH) !== 0;
    return (first & RESERVED) !== 0 || (second & MASKED) === 0 || isAmid || isNoLength;
  }

  #begin(length: number): void {
    const head = this.#head;
    const [first = 0] = head;
    const opcode = first & 15;
    this.#isBinary =
      opcode === OPCODE.binary || (opcode === OPCODE.continuation && this.#inMessage);
    this.#left = payloadLength(head);
    if (!this.#isBinary) {
      this.#sink.other(Buffer.from(head.subarray(0, length)));
      return;
    }
    this.#isFinal = (first & FINAL) !== 0;
    this.#inMessage = !this.#isFinal;
    this.#mask = head.readInt32LE(length - 4);
    this.#phase = 0;
    if (this.#left === 0 && this.#isFinal) this.#sink.piece(Buffer.alloc(0), true);
  }

  #take(piece: Buffer<ArrayBuffer>): void {
    this.#left -= piece.length;
    if (!this.#isBinary) {
      this.#sink.other(piece);
      return;
    }
    unmask(piece, this.#mask, this.#phase);
    this.#phase = (this.#phase + piece.length) & 3;
    this.#sink.piece(piece, this.#isFinal && this.#left === 0);
  }
}

/** Of a head with a mask of which so many bytes are known; undefined while that is not to be told. */
function headLength(head: Buffer, known: number): number | undefined {
  if (known < 2) return undefined;
  const second = head[1] ?? 0;
  const short = second & 127;
  const more = short === 126 ? 2 : short === 127 ? 8 : 0;
  return 2 + more + 4;
}

function payloadLength(head: Buffer): number {
  const short = (head[1] ?? 0) & 127;
  if (short === 126) return head.readUInt16BE(2);
  // Beyond 2^53 nobody will ever have sent it all.
  return short === 127 ? Number(head.readBigUInt64BE(2)) : short;
}

/** The head of a binary message in one frame, as servers send it: without a mask. */
export function binaryHead(length: number): Buffer {
  if (length < 126) return Buffer.from([FINAL | OPCODE.binary, length]);
  if (length < 65_536) return Buffer.from([FINAL | OPCODE.binary, 126, length >> 8, length & 255]);
  const head = Buffer.alloc(10);
  head[0] = FINAL | OPCODE.binary;
  head[1] = 127;
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}
