import { isUtf8 } from 'node:buffer';

/** Text of a stream of UTF-8, whose characters may lie across the pieces that it comes in. */
export class TextPieces {
  /** The beginning of a character whose rest is to come. */
  #rest: Buffer = Buffer.alloc(0);

  /**
   * @returns the characters that are whole by now; `is_text`: whether all of it is UTF-8 without a zero byte, which
   *   text never has. What is not UTF-8 is U+FFFD in `text`; `bytes` are those of it as they came
   */
  take(bytes: Uint8Array): { text: string; is_text: boolean; bytes: Buffer } {
    const all = this.#rest.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#rest, bytes]);
    const begun = lengthBegun(all);
    const whole = all.subarray(0, all.length - begun);
    // By itself: a part of them would hold on to all of them until the next ones come.
    this.#rest = Buffer.alloc(begun);
    all.copy(this.#rest, 0, whole.length);
    return {
      text: whole.toString('utf8'),
      is_text: isUtf8(whole) && !whole.includes(0),
      bytes: whole,
    };
  }

  /** What is left at the end. */
  finish(): { text: string; bytes: Buffer } {
    const bytes = this.#rest;
    this.#rest = Buffer.alloc(0);
    return { text: bytes.toString('utf8'), bytes };
  }
}

/** How many bytes at the end begin a character that they do not finish; up to three. */
function lengthBegun(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    // One that goes on with a character.
    if ((byte & 0xc0) === 0x80) continue;
    const length = byte >= 0xf0 && byte < 0xf8 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return byte < 0xf8 && length > back ? back : 0;
  }
  return 0;
}
