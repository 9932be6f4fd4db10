/** A longer first message is no client's: usual ones have two thousand bytes at most. */
export const HELLO_BYTES = 16 << 10;

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;

/** Pieces that a first message may come in; packets have five hundred bytes and more. */
const MOST_PIECES = 64;

/**
 * A TLS client's first message while it comes. Each byte is looked at once, however they are cut.
 *
 * @see RFC 8446 §4, §5.1
 */
export class Hello {
  #pieces: Uint8Array[] = [];
  #count = 0;
  #length = 0;
  /** Of the record that is under way, its head as far as it has come, and bytes that are missing of the rest. */
  #record: number[] = [];
  #missing = 0;
  /** The message's type and length. */
  readonly #head: number[] = [];
  #told = 0;
  #isOther = false;

  /** Whether it is longer, or in more pieces, than any client's. */
  get isTooLong(): boolean {
    return this.#length > HELLO_BYTES || this.#count > MOST_PIECES;
  }

  /** All that has come. */
  bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }

  /**
   * Adds a piece.
   *
   * @returns whether the message is there to its end; also when what came is none, so that nothing has
   *   to be waited for
   */
  add(piece: Uint8Array): boolean {
    this.#count += 1;
    this.#length += piece.length;
    if (this.isTooLong) {
      // Of no use, and a thousand of them are many bytes.
      this.#pieces = [];
      return false;
    }
    this.#pieces.push(piece);
    for (let at = 0; at < piece.length && !this.#isOther; ) {
      if (this.#missing === 0) {
        this.#addToRecord(piece[at] ?? 0);
        at += 1;
      } else {
        const end = Math.min(piece.length, at + this.#missing);
        this.#addToMessage(piece.subarray(at, end));
        at = end;
      }
      if (this.#isWhole()) return true;
    }
    return this.#isOther;
  }

  #addToRecord(byte: number): void {
    const record = this.#record;
    record.push(byte);
    if (record[0] !== HANDSHAKE) this.#isOther = true;
    if (record.length < 5) return;
    this.#missing = ((record[3] ?? 0) << 8) | (record[4] ?? 0);
    this.#record = [];
  }

  #addToMessage(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length && this.#head.length < 4; at++)
      this.#head.push(bytes[at] ?? 0);
    if (this.#head.length > 0 && this.#head[0] !== CLIENT_HELLO) this.#isOther = true;
    this.#told += bytes.length;
    this.#missing -= bytes.length;
  }

  /** The last record is to be there to its end: before that nobody reads it. */
  #isWhole(): boolean {
    const [, a, b, c] = this.#head;
    if (a === undefined || b === undefined || c === undefined) return false;
    return this.#missing === 0 && this.#told >= 4 + ((a << 16) | (b << 8) | c);
  }
}
