/** What is kept of one answer besides its key. */
interface Entry {
  /** A number that its keeper may set anew. */
  writes: number;
  /** ASCII. */
  told: string;
  body: Uint8Array;
}

/** Entries begin at multiples of so many bytes. */
const UNIT = 64;
/** Where the next entry goes, in units of all that was ever kept; alone on its line of the processor's cache. */
const NEXT = 0;
const SLOTS_AT = UNIT / Int32Array.BYTES_PER_ELEMENT;
/** A slot for so many bytes of entries; an entry has some 600. */
const BYTES_OF_SLOT = 512;
/** Slots of one hash. */
const WAYS = 4;

/** Of an entry, before its key, what is told of it and its body: numbers of 32 bits each. */
const HEAD = { at: 0, key: 1, told: 2, body: 3, writes: 4 } as const;
const HEAD_BYTES = 5 * Int32Array.BYTES_PER_ELEMENT;

/**
 * Answers in shared memory, one behind the other, the oldest of them written over by the newest. One thread writes, any
 * reads, and neither waits: who has read looks whether that was written over meanwhile.
 */
export class AnswerRing {
  /** {@link NEXT}; then slots, a hash and a place each. */
  readonly #head: Int32Array;
  readonly #slots: number;
  readonly #numbers: Int32Array;
  readonly #bytes: Buffer;
  /** Of the ring. */
  readonly #units: number;
  /** Places are counted up to here, whole times round the ring, and begin anew. */
  readonly #period: number;

  /** @param length of the part of the memory that is the ring's, which is full of zeros when there is none yet */
  constructor(shared: SharedArrayBuffer, offset: number, length: number) {
    this.#slots = 2 ** Math.floor(Math.log2(length / BYTES_OF_SLOT));
    const head_bytes = UNIT + this.#slots * 2 * Int32Array.BYTES_PER_ELEMENT;
    const data_at = offset + Math.ceil(head_bytes / UNIT) * UNIT;
    this.#units = Math.floor((offset + length - data_at) / UNIT);
    this.#period = this.#units * Math.floor(2 ** 31 / this.#units);
    this.#head = new Int32Array(shared, offset, head_bytes / Int32Array.BYTES_PER_ELEMENT);
    const bytes = this.#units * UNIT;
    this.#numbers = new Int32Array(shared, data_at, bytes / Int32Array.BYTES_PER_ELEMENT);
    this.#bytes = Buffer.from(shared, data_at, bytes);
    // What is written over is never among the first: place 0 says that a slot is empty.
    if (Atomics.load(this.#head, NEXT) === 0) Atomics.store(this.#head, NEXT, this.#units);
  }

  /** @returns a copy, and where it is */
  find(key: Uint8Array, hash = hashOf(key)): (Entry & { at: number }) | undefined {
    const first = this.#bucketOf(hash);
    for (let slot = first; slot < first + 2 * WAYS; slot += 2) {
      if (Atomics.load(this.#head, slot) !== hash) continue;
      const at = Atomics.load(this.#head, slot + 1);
      const found = this.#read(at, key);
      if (found) return { ...found, at };
    }
    return undefined;
  }

  /** Only ever by the one thread whose ring it is; what is long for it is not kept. */
  keep(key: Uint8Array, { writes, told, body }: Entry): void {
    const length = HEAD_BYTES + key.length + told.length + body.length;
    const units = Math.ceil(length / UNIT);
    if (units > this.#units / 4) return;
    let at = Atomics.load(this.#head, NEXT);
    // None goes on at the beginning.
    const left = this.#units - (at % this.#units);
    if (units > left) at = this.#after(at, left);
    // Before a byte is written over: see #read.
    Atomics.store(this.#head, NEXT, this.#after(at, units));
    // Behind a read that is behind that store no processor puts what is written next before it.
    Atomics.load(this.#head, NEXT);
    const number = this.#numberOf(at);
    this.#numbers.set([at, key.length, told.length, body.length, writes], number);
    let into = number * Int32Array.BYTES_PER_ELEMENT + HEAD_BYTES;
    this.#bytes.set(key, into);
    into += key.length;
    this.#bytes.write(told, into, 'latin1');
    this.#bytes.set(body, into + told.length);
    this.#point(hashOf(key), at);
  }

  /** As {@link keep}: by its own thread, which alone could write over it. */
  setWrites(at: number, writes: number): void {
    if (this.#isOver(at)) return;
    this.#numbers[this.#numberOf(at) + HEAD.writes] = writes;
  }

  /** Has one of the slots of a hash lead to an entry: that of the same hash, or the oldest. */
  #point(hash: number, at: number): void {
    const first = this.#bucketOf(hash);
    let chosen = first;
    let oldest = -1;
    for (let slot = first; slot < first + 2 * WAYS; slot += 2) {
      const age = this.#distance(this.#head[slot + 1] ?? 0, at);
      if (this.#head[slot] === hash) {
        chosen = slot;
        break;
      }
      if (age > oldest) [chosen, oldest] = [slot, age];
    }
    Atomics.store(this.#head, chosen + 1, at);
    Atomics.store(this.#head, chosen, hash);
  }

  #read(at: number, key: Uint8Array): Entry | undefined {
    if (this.#isOver(at)) return undefined;
    const number = this.#numberOf(at);
    const numbers = this.#numbers;
    const of = (which: number): number => numbers[number + which] ?? 0;
    if (of(HEAD.at) !== at || of(HEAD.key) !== key.length) return undefined;
    const key_at = number * Int32Array.BYTES_PER_ELEMENT + HEAD_BYTES;
    const told_at = key_at + key.length;
    const body_at = told_at + of(HEAD.told);
    const end = body_at + of(HEAD.body);
    if (body_at < told_at || end < body_at || end > this.#bytes.length) return undefined;
    if (this.#bytes.compare(key, 0, key.length, key_at, told_at) !== 0) return undefined;
    const told = this.#bytes.toString('latin1', told_at, body_at);
    const body = Buffer.allocUnsafe(end - body_at);
    this.#bytes.copy(body, 0, body_at, end);
    const writes = of(HEAD.writes);
    // Its writer raises NEXT before it writes: where that says so, nothing was written over until now.
    return this.#isOver(at) ? undefined : { writes, told, body };
  }

  /** Whether an entry was written over, or may be now. */
  #isOver(at: number): boolean {
    // An addition, so that what was read before it was read before it on every processor.
    const next = Atomics.add(this.#head, NEXT, 0);
    return at === 0 || this.#distance(at, next) > this.#units;
  }

  #after(at: number, units: number): number {
    return (at + units) % this.#period;
  }

  #distance(from: number, to: number): number {
    return (to - from + this.#period) % this.#period;
  }

  #bucketOf(hash: number): number {
    return SLOTS_AT + ((hash >>> 0) % (this.#slots / WAYS)) * 2 * WAYS;
  }

  #numberOf(at: number): number {
    return ((at % this.#units) * UNIT) / Int32Array.BYTES_PER_ELEMENT;
  }
}

/** FNV-1a; never 0. For who looks into several rings. */
export function hashOf(key: Uint8Array): number {
  let hash = 0x811c9dc5;
  const { length } = key;
  // By index: a third of the time that an iterator takes, with each request.
  for (let at = 0; at < length; at += 1) hash = Math.imul(hash ^ (key[at] ?? 0), 0x01000193);
  return hash === 0 ? 1 : hash | 0;
}
