import { MOST_PACKETS, type Opener, PLAIN_OPENER } from './ciphers.ts';
import { SshFault } from './fault.ts';

/** As much as OpenSSH takes in one packet. */
export const MOST_PACKET = 256 << 10;
/** Of a line before the packets begin (RFC 4253 §4.2). */
const MOST_LINE = 255;
/** Lines of text that a server may send before its own. */
const MOST_LINES = 32;

/** So many pieces become one: each has its price, however short it is. */
const MOST_PIECES = 1024;
const SHORT_PIECE = 1024;

/** Bytes as they come, cut into packets; no byte is copied more than a few times. */
export class Incoming {
  #pieces: Buffer[] = [];
  #length = 0;
  #opener: Opener = PLAIN_OPENER;
  #sequence = 0;
  #by_keys = 0;
  #wanted: number | undefined;
  #lines = 0;

  /** Bytes that wait. */
  get length(): number {
    return this.#length;
  }

  /** Of the packet that was read last. */
  get sequence(): number {
    return (this.#sequence - 1) >>> 0;
  }

  push(bytes: Buffer): void {
    if (bytes.length === 0) return;
    // A short one would hold on to all that it came with.
    this.#pieces.push(bytes.length < SHORT_PIECE ? Buffer.from(bytes) : bytes);
    this.#length += bytes.length;
    if (this.#pieces.length > MOST_PIECES) this.#gather(this.#length);
  }

  /** What follows is encrypted by other keys. */
  changeKeys(opener: Opener, countsAnew: boolean): void {
    this.#opener = opener;
    this.#by_keys = 0;
    if (countsAnew) this.#sequence = 0;
  }

  /**
   * The line that a peer begins with, without its end; undefined while it is not there.
   *
   * @throws SshFault when it is none
   */
  identification(mayGreet: boolean): string | undefined {
    for (;;) {
      const piece = this.#peek(Math.min(this.#length, MOST_LINE));
      const end = piece.indexOf(0x0a);
      if (end < 0) {
        if (piece.length >= MOST_LINE) throw new SshFault('it does not speak SSH');
        return undefined;
      }
      const line = this.#take(end + 1)
        .toString('latin1')
        .replace(/\r?\n$/, '');
      if (/^SSH-(2\.0|1\.99)-/.test(line)) return line;
      if (line.startsWith('SSH-') || !mayGreet || ++this.#lines > MOST_LINES) {
        throw new SshFault('it does not speak SSH 2.0');
      }
    }
  }

  /** The next payload; undefined while it is not there as a whole. @throws SshFault */
  next(): Buffer | undefined {
    const { head, tail } = this.#opener;
    if (this.#wanted === undefined) {
      if (this.#length < head) return undefined;
      const length = this.#opener.readLength(this.#peek(head));
      if (length < 5 || length > MOST_PACKET || 4 + length < head) {
        throw new SshFault('a packet has no length that is possible');
      }
      this.#wanted = 4 + length + tail;
    }
    if (this.#length < this.#wanted) return undefined;
    const packet = this.#take(this.#wanted);
    this.#wanted = undefined;
    if (++this.#by_keys > MOST_PACKETS) throw new SshFault('its keys are used up');
    const opened = this.#opener.open(packet, this.#sequence);
    this.#sequence = (this.#sequence + 1) >>> 0;
    const padding = opened[0] ?? 0;
    if (padding < 4 || padding + 1 >= opened.length) {
      throw new SshFault('a packet has no padding that is possible');
    }
    return opened.subarray(1, opened.length - padding);
  }

  #peek(length: number): Buffer {
    const [first] = this.#pieces;
    if (first && first.length >= length) return first.subarray(0, length);
    return this.#gather(length).subarray(0, length);
  }

  #take(length: number): Buffer {
    const [first = Buffer.alloc(0)] = this.#pieces;
    const whole = first.length >= length ? first : this.#gather(length);
    this.#length -= length;
    if (whole.length === length) this.#pieces.shift();
    else this.#pieces[0] = whole.subarray(length);
    return whole.subarray(0, length);
  }

  /** Makes one piece of those that hold the first bytes. */
  #gather(length: number): Buffer {
    let [count, have] = [0, 0];
    while (have < length && count < this.#pieces.length) have += this.#pieces[count++]?.length ?? 0;
    const whole = Buffer.concat(this.#pieces.slice(0, count), have);
    this.#pieces.splice(0, count, whole);
    return whole;
  }
}
