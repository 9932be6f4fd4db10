import type { Tables } from './tables.ts';

/** The tables of which rows are kept between requests; who keeps some of another adds it here. */
export const KEPT_TABLES = [
  'token',
  'pki_revocation',
  'pki_certificate',
] as const satisfies readonly (keyof Tables)[];

export type KeptTable = (typeof KEPT_TABLES)[number];

/** Those of which nobody keeps that a row is not there: new rows are not counted. */
export const ONLY_ROWS_KEPT: readonly KeptTable[] = ['pki_certificate'];

/** Places among the counts; before them stands when the configuration's version was confirmed. */
const ANYTHING = 0;
const CONFIG = 1;
const ENDED = 2;
const FIRST_TABLE = 3;
const PLACES = FIRST_TABLE + KEPT_TABLES.length;
const BYTES = BigInt64Array.BYTES_PER_ELEMENT + PLACES * Int32Array.BYTES_PER_ELEMENT;

const LONG_AGO_MS = -1e9;

/** What was changed since it was last looked at. */
interface Changes {
  /** The configuration's version; undefined: it is what it was. */
  config?: number;
  tables: KeptTable[];
}

const NO_CHANGES: Changes = { tables: [] };

/**
 * How often the tables of which rows are kept were written, and the configuration's version: numbers in memory
 * that all threads of the process share. Whoever writes raises them when it is durable, and before anybody is told so;
 * whoever keeps something looks at them before using it.
 */
export class WriteCounts {
  /** To be given to other threads. */
  readonly shared: SharedArrayBuffer;
  readonly #counts: Int32Array;
  /** As they were when this thread last looked. */
  readonly #seen: Int32Array;
  readonly #confirmed: BigInt64Array;

  /** @param shared of the thread that has opened the store; absent: this one */
  constructor(shared?: SharedArrayBuffer) {
    this.shared = shared ?? new SharedArrayBuffer(BYTES);
    this.#confirmed = new BigInt64Array(this.shared, 0, 1);
    this.#counts = new Int32Array(this.shared, BigInt64Array.BYTES_PER_ELEMENT);
    if (!shared) this.confirm(LONG_AGO_MS);
    this.#seen = new Int32Array(PLACES);
    for (let place = PLACES - 1; place >= 0; place -= 1) {
      this.#seen[place] = Atomics.load(this.#counts, place);
    }
  }

  /** Counts writes of tables; of those that are counted twice nobody keeps more than of the others. */
  raise(tables: Iterable<KeptTable>): void {
    let any = false;
    for (const table of tables) {
      Atomics.add(this.#counts, placeOf(table), 1);
      any = true;
    }
    // Last: whoever sees it sees the others.
    if (any) Atomics.add(this.#counts, ANYTHING, 1);
  }

  /** Notes a version that was committed; an older one than is known changes nothing. */
  noteConfig(version: number): void {
    let known = Atomics.load(this.#counts, CONFIG);
    while (version > known) {
      const found = Atomics.compareExchange(this.#counts, CONFIG, known, version);
      if (found === known) break;
      known = found;
    }
    // Also where it is known: another thread may have noted it, and not come to this yet.
    Atomics.add(this.#counts, ANYTHING, 1);
  }

  get config(): number {
    return Atomics.load(this.#counts, CONFIG);
  }

  /** Notes that the version was asked for, on behalf of all threads, and when: a time of {@link monotonicMs}. */
  confirm(at_ms: number): void {
    Atomics.store(this.#confirmed, 0, BigInt(Math.floor(at_ms)));
  }

  /** When the version was asked for last. */
  get confirmed_ms(): number {
    return Number(Atomics.load(this.#confirmed, 0));
  }

  /** Notes that nothing may be written any more, by whatever thread. */
  end(): void {
    Atomics.store(this.#counts, ENDED, 1);
  }

  get hasEnded(): boolean {
    return Atomics.load(this.#counts, ENDED) !== 0;
  }

  /** What has changed since this was last asked on this thread; asked with each request, so it costs some nanoseconds. */
  look(): Changes {
    const anything = Atomics.load(this.#counts, ANYTHING);
    if (anything === this.#seen[ANYTHING]) return NO_CHANGES;
    this.#seen[ANYTHING] = anything;
    const config = this.#isNew(CONFIG) ? { config: this.#seen[CONFIG] ?? 0 } : {};
    return { ...config, tables: KEPT_TABLES.filter((table) => this.#isNew(placeOf(table))) };
  }

  /** What a count was when {@link look} was called last: of a table, or of the configuration. */
  seen(of: KeptTable | 'config'): number {
    return this.#seen[of === 'config' ? CONFIG : placeOf(of)] ?? 0;
  }

  #isNew(place: number): boolean {
    const count = Atomics.load(this.#counts, place);
    if (count === this.#seen[place]) return false;
    this.#seen[place] = count;
    return true;
  }
}

const placeOf = (table: KeptTable): number => FIRST_TABLE + KEPT_TABLES.indexOf(table);

/** Milliseconds of a clock that only goes on, and is the same for all threads. */
export const monotonicMs = (): number => Number(process.hrtime.bigint() / 1_000_000n);
