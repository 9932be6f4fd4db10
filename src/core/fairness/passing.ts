/** What remembers answers that it would find again. */
export interface Forgetful {
  /** Lets go of all of them. */
  forget(): void;
}

/** What a part takes itself. */
const PART_BYTES = 160;

/** What one of many remembers, and has a part of a room for. */
export interface Remembered {
  readonly of: WeakRef<Forgetful>;
  bytes: number;
}

/**
 * A room for what very many things remember of what they were asked: each of them little, all of them together,
 * and one that is asked about everything there is, more than a server has. What began to remember first forgets
 * first; what remembers too much forgets by itself. None is kept in use by this.
 */
export class PassingRoom {
  readonly #most: number;
  readonly #mostOfOne: number;
  readonly #remembering = new Set<Remembered>();
  #bytes = 0;

  /** @param most bytes, of all together and of one */
  constructor(most: { all: number; one: number }) {
    this.#most = most.all;
    this.#mostOfOne = most.one;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** A part for something that is there for as long as the part is. */
  open(forgetful: Forgetful): Remembered {
    return { of: new WeakRef(forgetful), bytes: 0 };
  }

  /** Notes that something remembers more. */
  grow(part: Remembered, bytes: number): void {
    const more = part.bytes === 0 ? PART_BYTES + bytes : bytes;
    part.bytes += more;
    this.#bytes += more;
    this.#remembering.add(part);
    if (part.bytes > this.#mostOfOne) this.#empty(part);
    for (const first of this.#remembering) {
      if (this.#bytes <= this.#most) return;
      this.#empty(first);
    }
  }

  #empty(part: Remembered): void {
    this.#bytes -= part.bytes;
    part.bytes = 0;
    this.#remembering.delete(part);
    part.of.deref()?.forget();
  }
}
