/** Seeded chance, and small damage done to byte strings. Nothing here depends on clock or system. */

/** Numbers that follow from the seed alone (xorshift32, Marsaglia 2003). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    // Zero is the one state that xorshift never leaves.
    this.#state = seed >>> 0 || 0x9e3779b9;
  }

  /** A whole number from 0 up to, not including, `bound`. */
  roll(bound: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x >>> 0;
    return bound <= 1 ? 0 : this.#state % bound;
  }

  pick<T>(from: readonly T[]): T {
    const value = from[this.roll(from.length)];
    if (value === undefined) throw new RangeError('nothing to pick from');
    return value;
  }
}

/** Longest input a mutation makes. */
export const MAX_INPUT_BYTES = 64 << 10;

// Bytes at which length forms, tags and signs change.
const EDGES = [0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0c, 0x13, 0x17, 0x1f, 0x30, 0x31, 0x7f];
const HIGH_EDGES = [0x80, 0x81, 0x82, 0x83, 0x84, 0x88, 0xa0, 0xa1, 0xbf, 0xc0, 0xf0, 0xfe, 0xff];
const BYTES = [...EDGES, ...HIGH_EDGES];

type Mutation = (input: Uint8Array, dice: Dice, other: Uint8Array) => Uint8Array;

function replaceRange(
  input: Uint8Array,
  start: number,
  end: number,
  middle: Uint8Array,
): Uint8Array {
  const out = new Uint8Array(start + middle.length + input.length - end);
  out.set(input.subarray(0, start));
  out.set(middle, start);
  out.set(input.subarray(end), start + middle.length);
  return out;
}

/** A range that is short more often than long. */
function chooseRange(length: number, dice: Dice): [start: number, end: number] {
  const start = dice.roll(length + 1);
  const longest = dice.roll(4) === 0 ? length - start : Math.min(16, length - start);
  return [start, start + dice.roll(longest + 1)];
}

const setByte =
  (choose: (dice: Dice, old: number) => number): Mutation =>
  (input, dice) => {
    const out = new Uint8Array(input);
    const at = dice.roll(out.length);
    if (out.length > 0) out[at] = choose(dice, out[at] ?? 0);
    return out;
  };

const MUTATIONS: readonly Mutation[] = [
  setByte((dice, old) => old ^ (1 << dice.roll(8))),
  setByte((dice) => dice.pick(BYTES)),
  setByte((dice) => dice.roll(256)),
  setByte((dice, old) => old + dice.roll(9) - 4),
  // cut off
  (input, dice) => input.slice(0, dice.roll(input.length + 1)),
  // leave out
  (input, dice) => {
    const [start, end] = chooseRange(input.length, dice);
    return replaceRange(input, start, end, new Uint8Array(0));
  },
  // say twice or many times
  (input, dice) => {
    const [start, end] = chooseRange(input.length, dice);
    const times = dice.roll(8) === 0 ? dice.roll(1000) : 2;
    const room = Math.max(0, MAX_INPUT_BYTES - input.length);
    const count = Math.min(times, Math.floor(room / Math.max(1, end - start)));
    const repeated = new Uint8Array(count * (end - start));
    for (let i = 0; i < count; i++) repeated.set(input.subarray(start, end), i * (end - start));
    return replaceRange(input, end, end, repeated);
  },
  // put in
  (input, dice) => {
    const at = dice.roll(input.length + 1);
    const added = Uint8Array.from({ length: 1 + dice.roll(8) }, () => dice.pick(BYTES));
    return replaceRange(input, at, at, added);
  },
  // borrow from another input
  (input, dice, other) => {
    const [start, end] = chooseRange(input.length, dice);
    const [from, to] = chooseRange(other.length, dice);
    return replaceRange(input, start, end, other.subarray(from, to));
  },
  // wrap many times over, with honest lengths: depth
  (input, dice) => {
    const [start, end] = chooseRange(input.length, dice);
    const tag = dice.pick([0x30, 0x31, 0xa0, 0x24]);
    let inner: Uint8Array = input.slice(start, end);
    for (let depth = dice.roll(100); depth > 0 && inner.length < 0x7f; depth--) {
      inner = replaceRange(inner, 0, 0, Uint8Array.of(tag, inner.length));
    }
    return replaceRange(input, start, end, inner);
  },
];

/**
 * Damages an input in one to four places.
 *
 * @param words pieces that mean something to the reader under test, e.g. `-----END `
 */
export function mutate(
  input: Uint8Array,
  other: Uint8Array,
  words: readonly Uint8Array[],
  dice: Dice,
): Uint8Array {
  let out = input;
  for (let left = 1 + dice.roll(4); left > 0; left--) {
    if (words.length > 0 && dice.roll(4) === 0) {
      const [start, end] = chooseRange(out.length, dice);
      out = replaceRange(out, start, end, dice.pick(words));
    } else {
      out = dice.pick(MUTATIONS)(out, dice, other);
    }
  }
  return out.subarray(0, MAX_INPUT_BYTES);
}
