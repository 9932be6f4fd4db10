import { Failure } from '../../../core/failure.ts';
import type { Asker } from '../../../core/fairness/asker.ts';
import { FairTurns, type Places } from '../../../core/fairness/fair-turns.ts';
import type { Turned } from '../../../core/fairness/giving-way.ts';
import { type ByteLimits, type Hold, SharedBytes } from '../../../core/fairness/shared-bytes.ts';

/**
 * What a session being made waits for with the secrets that it has: `stored` ones are read and sealed at once,
 * beside `issued` ones it waits for servers, which may take their time.
 */
type Line = 'stored' | 'issued';

/** How much is held for sessions that are being made, and how many of them have all that one may hold. */
export interface RoomPlaces {
  /** Bytes of sessions without a place. */
  short: ByteLimits;
  /** Bytes of one session without a place. */
  short_each: number;
  /** Bytes of one session with a place. */
  long_each: number;
  /** Bytes of the rows that one may have besides, where it waits for servers. */
  rows_each: number;
  long: Readonly<Record<Line, Places>>;
}

/** Bytes of the secrets of one session, as JSON: they go out in one answer. */
export const MOST_BYTES = 2 << 20;
/** A secret is there sealed, as it was opened, and twice in the answer. */
export const SECRET_TIMES = 4;
/** What sealing adds to all secrets of one session at most. */
const SEALING = 64 << 10;

const WAITING = { waiting: 512, waiting_each: 256 };

/** Together 64 MiB of the secrets and sources of all sessions that are being made, and half of that for one site. */
export const ROOM_PLACES: RoomPlaces = {
  short: { total: 18 << 20, each: 14 << 20 },
  short_each: SECRET_TIMES * (512 << 10),
  long_each: SECRET_TIMES * (MOST_BYTES + SEALING),
  rows_each: 3 << 19,
  long: {
    stored: { at_once: 2, at_once_site: 1, ...WAITING, longest_patience_ms: 20_000 },
    issued: { at_once: 3, at_once_site: 1, ...WAITING, longest_patience_ms: 30_000 },
  },
};

export const refuseTooLong = (): Failure =>
  new Failure(
    'precondition',
    `the credentials of the target are more than ${MOST_BYTES} bytes together`,
  );

/** There is no room just now: whoever gives back all that was held can wait for a place. */
export class NoRoom extends Error {
  readonly line: Line;

  constructor(line: Line) {
    super('no room for the secrets of a session');
    this.name = 'NoRoom';
    this.line = line;
  }
}

/**
 * Room for the secrets of sessions that are being made: memory is everybody's. Most sessions have short ones, which
 * are counted byte by byte. Who finds no room with those, or has long ones, needs a place, of which there are few; whoever waits
 * for one holds nothing, and has a turn by site.
 */
export class SecretRoom {
  readonly #places: RoomPlaces;
  readonly #short: SharedBytes;
  readonly #long: Readonly<Record<Line, FairTurns>>;

  /** @param refuse makes what those hear whose turn does not come */
  constructor(places: RoomPlaces, refuse: (why: Turned) => Error) {
    this.#places = places;
    this.#short = new SharedBytes(places.short);
    const { stored, issued } = places.long;
    this.#long = { stored: new FairTurns(stored, refuse), issued: new FairTurns(issued, refuse) };
  }

  /** Bytes that are held now; of those with a place as many as they may hold. */
  get held(): number {
    const { stored, issued } = this.#long;
    const { long_each, rows_each } = this.#places;
    const places = (stored.running + issued.running) * long_each;
    return this.#short.held + places + issued.running * rows_each;
  }

  /** Begins to hold the secrets of one session, without a place until it needs one. */
  hold(asker: Asker): SecretHold {
    const short = this.#short.hold(asker.party, () => {});
    // Nobody else takes the room of what is being answered.
    short.settle();
    const { short_each, long_each } = this.#places;
    return new SecretHold({ short_each, long_each }, short, (line) => this.#tryPlace(line, asker));
  }

  /**
   * The same, with a place from the start.
   *
   * @throws what `refuse` makes when the turn does not come in time, or too many wait
   */
  async wait(line: Line, asker: Asker): Promise<SecretHold> {
    const { begun, place } = this.#take(line, asker);
    await begun;
    const hold = this.hold(asker);
    hold.enter(place);
    return hold;
  }

  #tryPlace(line: Line, asker: Asker): Place | undefined {
    // Begins at once, and so is refused nothing.
    return this.#long[line].isFreeFor(asker) ? this.#take(line, asker).place : undefined;
  }

  #take(line: Line, asker: Asker): { begun: Promise<void>; place: Place } {
    const begun = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    const stay = (): Promise<void> => {
      begun.resolve();
      return left.promise;
    };
    this.#long[line].take(asker, stay).catch(begun.reject);
    return { begun: begun.promise, place: { line, leave: left.resolve } };
  }
}

interface Place {
  line: Line;
  leave(): void;
}

/** What is held for one session. */
export class SecretHold {
  readonly #most: Pick<RoomPlaces, 'short_each' | 'long_each'>;
  readonly #short: Hold;
  readonly #tryPlace: (line: Line) => Place | undefined;
  #line: Line = 'stored';
  #place: Place | undefined;
  /** Of secrets. */
  #bytes = 0;

  constructor(
    most: Pick<RoomPlaces, 'short_each' | 'long_each'>,
    short: Hold,
    tryPlace: (line: Line) => Place | undefined,
  ) {
    this.#most = most;
    this.#short = short;
    this.#tryPlace = tryPlace;
  }

  enter(place: Place): void {
    this.#short.release();
    this.#place = place;
  }

  /** @throws NoRoom, Failure `precondition` for more than one session may ever hold */
  grow(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#most.long_each) throw refuseTooLong();
    if (this.#bytes <= this.#most.short_each) this.growRows(bytes);
    else this.#needPlace();
  }

  /**
   * The same for rows that belong to no secret: nobody is refused for having many.
   *
   * @throws NoRoom
   */
  growRows(bytes: number): void {
    if (this.#place || this.#short.grow(bytes)) return;
    this.#needPlace();
  }

  #needPlace(): void {
    if (this.#place) return;
    const place = this.#tryPlace(this.#line);
    if (!place) throw new NoRoom(this.#line);
    this.enter(place);
  }

  /** From now on servers are waited for: what was held is not, and no place of those who wait for none. */
  startIssuing(): void {
    if (this.#place?.line !== 'issued') this.release();
    this.#bytes = 0;
    this.#line = 'issued';
  }

  /** Gives everything back. */
  release(): void {
    this.#short.release();
    this.#place?.leave();
    this.#place = undefined;
    this.#bytes = 0;
  }
}
