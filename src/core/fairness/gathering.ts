import type { Hold } from './shared-bytes.ts';

/** Why no more is taken: too many bytes, too many pieces for them, or no memory left for them. */
export type GatheringFault = 'too_long' | 'too_many_pieces' | 'no_room';

/** What a gathering may come to. */
interface GatheringLimits {
  /** Bytes in all. */
  limit: number;
  /** Bytes that were announced, if they were. */
  announced?: number | undefined;
  /** Counts the memory; without it nothing is counted. */
  hold?: Hold | undefined;
}

/** Pieces that anybody may send, however short they are. */
const FREE_PIECES = 4096;
/**
 * Bytes that each further piece has on the average at least. Packets have five hundred and more, and
 * whoever writes chunks of a word each still sends several hundred words; a piece of one byte takes six on
 * the wire, and as much of a processor as one of thousands.
 */
const BYTES_A_PIECE = 64;
const FIRST_ROOM = 256;
const NO_ROOM: Uint8Array = new Uint8Array(0);

/**
 * Bytes from a socket, put together as they come. They are copied into one piece of memory that grows
 * with them, because each piece as it came costs hundreds of bytes besides its own, and what is announced costs
 * nothing until it is there.
 */
export class Gathering {
  readonly #limits: GatheringLimits;
  #room = NO_ROOM;
  #length = 0;
  #pieces = 0;

  constructor(limits: GatheringLimits) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#length;
  }

  /** @returns why the piece was not taken; nothing is to be added afterwards */
  add(piece: Uint8Array): GatheringFault | undefined {
    const { limit, announced, hold } = this.#limits;
    const length = this.#length + piece.length;
    if (length > limit) return 'too_long';
    this.#pieces += 1;
    if (this.#pieces > FREE_PIECES + length / BYTES_A_PIECE) return 'too_many_pieces';
    if (this.#length === 0 && piece.length === announced) {
      // All of it at once, as usual: nothing is copied.
      if (hold && !hold.grow(length)) return 'no_room';
      this.#room = piece;
    } else {
      if (length > this.#room.length && !this.#grow(length)) return 'no_room';
      this.#room.set(piece, this.#length);
    }
    this.#length = length;
    return undefined;
  }

  /** All that has come. */
  bytes(): Uint8Array {
    // A view costs as much as the rest of a short body's way through here.
    return this.#room.length === this.#length ? this.#room : this.#room.subarray(0, this.#length);
  }

  /** Lets go of the memory. */
  drop(): void {
    this.#room = NO_ROOM;
    this.#length = 0;
  }

  #grow(length: number): boolean {
    const { limit, announced = limit, hold } = this.#limits;
    const most = Math.max(length, Math.min(limit, announced));
    const capacity = Math.min(most, Math.max(length, this.#room.length * 2, FIRST_ROOM));
    if (hold && !hold.grow(capacity - this.#room.length)) return false;
    const room = new Uint8Array(capacity);
    room.set(this.#room.subarray(0, this.#length));
    this.#room = room;
    return true;
  }
}
