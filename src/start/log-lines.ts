/** Writes some bytes, as `fs.writeSync` does. @returns how many were taken */
type WriteSome = (bytes: Uint8Array) => number;

/** So often a line is tried that somebody who reads slowly has no room for. */
const TRIES = 3;

/**
 * Where the log's lines go. What cannot be written is dropped, and how many lines that were is told before the next one
 * that can: neither a full disk nor somebody who does not read holds the server up.
 */
export class LogLines {
  readonly #write: WriteSome;
  /** Lines that were dropped since one was written. */
  #dropped = 0;
  /** Whether the last line was written in part. */
  #isCut = false;

  constructor(write: WriteSome) {
    this.#write = write;
  }

  /** @param line with its end, as the logger makes it */
  write(line: string): void {
    const before = this.#isCut ? '\n' : '';
    const text = this.#dropped > 0 ? `${before}${toldOf(this.#dropped)}${line}` : before + line;
    const bytes = Buffer.from(text);
    const written = this.#writeAll(bytes);
    if (written === bytes.length) {
      this.#dropped = 0;
      this.#isCut = false;
    } else {
      this.#dropped += 1;
      this.#isCut ||= written > 0;
    }
  }

  /** @returns how many bytes were taken */
  #writeAll(bytes: Uint8Array): number {
    let written = 0;
    for (let tries = 0; written < bytes.length && tries < TRIES; tries += 1) {
      try {
        const some = this.#write(bytes.subarray(written));
        if (some > 0) tries = -1;
        written += some;
      } catch (error) {
        if (!isNoRoomYet(error)) break;
      }
    }
    return written;
  }
}

const toldOf = (dropped: number): string =>
  `${JSON.stringify({ level: 40, time: Date.now(), msg: `${dropped} lines of this log could not be written` })}\n`;

const isNoRoomYet = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EAGAIN';
