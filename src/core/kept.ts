import { doShared, whoAsks } from './fairness/asking.ts';
import { afterOthers } from './fairness/breath.ts';

/** What an entry takes besides the characters of its key and its value: about as many bytes. */
const ENTRY_BYTES = 256;
/** What would take a larger part of the room alone is not kept: it would push out all the others. */
const LARGEST_PART = 1 / 4;

/** What stays of a room that was full. */
const LEFT_PART = 3 / 4;

/**
 * Values by key that together take no more than some bytes; beyond it those go that were put in first. Keys
 * count as values do: some are made of what callers sent.
 */
export class LastOf<Value> {
  readonly #values = new Map<string, { value: Value; bytes: number }>();
  readonly #most: number;
  readonly #largest: number;
  readonly #weigh: (value: Value) => number;
  #bytes = 0;

  /**
   * @param most_bytes of all keys and values together
   * @param weigh about how many bytes a value takes
   * @param largest_part of the room that one may take: 1 where a large one costs more than all small ones
   */
  constructor(most_bytes: number, weigh: (value: Value) => number, largest_part = LARGEST_PART) {
    this.#most = most_bytes;
    this.#weigh = weigh;
    this.#largest = most_bytes * largest_part;
  }

  /** About how many bytes are kept. */
  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#values.size;
  }

  keys(): Iterable<string> {
    return this.#values.keys();
  }

  find(key: string): Value | undefined {
    return this.#values.get(key)?.value;
  }

  set(key: string, value: Value): void {
    this.delete(key);
    const bytes = ENTRY_BYTES + textBytes(key) + this.#weigh(value);
    if (bytes > this.#largest) return;
    if (this.#bytes + bytes > this.#most) this.#makeRoom(bytes);
    this.#values.set(key, { value, bytes });
    this.#bytes += bytes;
  }

  /** Some at once: to look for the first one passes over all that have gone. */
  #makeRoom(bytes: number): void {
    const left = Math.min(this.#most * LEFT_PART, this.#most - bytes);
    for (const key of this.#values.keys()) {
      if (this.#bytes <= left) return;
      this.delete(key);
    }
  }

  delete(key: string): void {
    const known = this.#values.get(key);
    if (!known) return;
    this.#values.delete(key);
    this.#bytes -= known.bytes;
  }

  clear(): void {
    this.#values.clear();
    this.#bytes = 0;
  }
}

/** A text takes two bytes for each of its characters as soon as one of them is not Latin. */
export function textBytes(text: string): number {
  return 2 * text.length;
}

/** The part of a room that the largest of such values counts as. */
const LARGEST_COUNTED = 7 / 10;

/** The weight of a value that is kept however large it is, as it takes long to make: it pushes out most others. */
export function atMostOf(room: number, bytes: number): number {
  return Math.min(bytes, LARGEST_COUNTED * room);
}

/** About how many bytes a value takes that is all JSON: texts, numbers, lists and objects of them. */
export function jsonBytes(value: unknown): number {
  return textBytes(JSON.stringify(value) ?? '');
}

/** What is being loaded. */
interface Loading<Value> {
  value: Promise<Value>;
  /** In whose turns. */
  party: string;
  /** The same once more, for all others. */
  beside?: Promise<Value>;
}

/** Values that are loaded once while they are kept, of at most so many bytes as {@link LastOf}. */
export class Kept<Value> {
  readonly #loaded: LastOf<Value>;
  readonly #loading = new Map<string, Loading<Value>>();

  /** As of {@link LastOf}. */
  constructor(most_bytes: number, weigh: (value: Value) => number, largest_part?: number) {
    this.#loaded = new LastOf(most_bytes, weigh, largest_part);
  }

  /** About how many bytes are kept. */
  get bytes(): number {
    return this.#loaded.bytes;
  }

  /** What is kept already; asking so takes no promise. */
  find(key: string): Value | undefined {
    return this.#loaded.find(key);
  }

  /**
   * Those who ask at the same time wait for one loading, and go on in turns: they may be hundreds. It goes by the turns of
   * the network that asked first, which may have much else to read: for all other networks it is begun once more, and
   * whichever is there first serves them. A failed one is not kept.
   */
  async get(key: string, load: () => Promise<Value>): Promise<Value> {
    const known = this.#loaded.find(key);
    if (known !== undefined) return known;
    const loading = this.#load(key, load);
    return loading.isBegun ? afterOthers(loading.value) : loading.value;
  }

  #load(key: string, load: () => Promise<Value>): { value: Promise<Value>; isBegun: boolean } {
    const { party } = whoAsks();
    const begun = this.#loading.get(key);
    if (!begun) return { value: this.#begin(key, party, load), isBegun: false };
    if (begun.party === party && !begun.beside) return { value: begun.value, isBegun: true };
    begun.beside ??= this.#run(key, load);
    const first = Promise.any([begun.value, begun.beside]).catch(() => begun.value);
    return { value: first, isBegun: true };
  }

  async #begin(key: string, party: string, load: () => Promise<Value>): Promise<Value> {
    const value = this.#run(key, load);
    this.#loading.set(key, { value, party });
    try {
      return await value;
    } finally {
      this.#loading.delete(key);
    }
  }

  async #run(key: string, load: () => Promise<Value>): Promise<Value> {
    const value = await doShared(load);
    this.#loaded.set(key, value);
    return value;
  }

  /** Whether a value is being loaded, also for whoever asks now. */
  #isLoading(key: string): boolean {
    const begun = this.#loading.get(key);
    return begun !== undefined && (begun.beside !== undefined || begun.party === whoAsks().party);
  }

  /**
   * The same of many, in their order.
   *
   * @param load loads those at once that nobody has asked for yet
   */
  async getAll(
    keys: readonly string[],
    load: (missing: readonly string[]) => Promise<(key: string) => Value>,
  ): Promise<Value[]> {
    const isBegun = keys.some((key) => this.#loading.has(key));
    const missing = keys.filter((key) => this.find(key) === undefined && !this.#isLoading(key));
    const loading = missing.length > 0 ? doShared(() => load(missing)) : undefined;
    const all = keys.map((key) => {
      const found = this.find(key);
      return found ?? this.#load(key, async () => (await (loading ?? load([key])))(key)).value;
    });
    return isBegun ? afterOthers(Promise.all(all)) : Promise.all(all);
  }
}
