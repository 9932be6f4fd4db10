import { type App, perApp } from '../../app.ts';
import { whoAsks } from '../../core/asking.ts';
import { Failure } from '../../core/failure.ts';
import { HeldTogether, type Sized } from '../../core/held-together.ts';
import { isMuch, type Known, listMuch } from './known.ts';

/** Bytes of what is known and permitted of those for whom something is done. */
const KNOWN_BYTES = { total: 96 << 20, each: 64 << 20 };

const heldOf = perApp(() => new HeldTogether(KNOWN_BYTES));

/**
 * What one request, or one piece of work, holds of whoever it is done for. Rooms bound what is kept between
 * requests: what fell out of them, or is too large for them, is still there for each request that goes by it,
 * and a request may wait for a long time.
 */
export class Holding {
  readonly #app: App;
  readonly #party: () => string;
  #held: readonly Sized[] = [];

  constructor(app: App) {
    this.#app = app;
    const who = whoAsks();
    this.#party = () => who.party;
  }

  /** Whether any of it is worth to be let go of. */
  get isMuch(): boolean {
    return this.#held.length > 0;
  }

  /**
   * Counts this in the place of what was counted before.
   *
   * @throws Failure `rate_limited` where there is no room for it
   */
  take(known: Known | undefined, besides: readonly Sized[] = NOTHING): void {
    const much = known ? listMuch(known) : NOTHING;
    this.#replace(besides.some(isMuch) ? [...much, ...besides] : much);
  }

  release(): void {
    this.#replace(NOTHING);
  }

  #replace(things: readonly Sized[]): void {
    if (things.length === 0 && this.#held.length === 0) return;
    const held: Sized[] = [];
    for (const thing of things) {
      if (heldOf(this.#app).hold(this.#party(), thing)) held.push(thing);
      else {
        releaseAll(this.#app, held);
        throw tooMuch();
      }
    }
    releaseAll(this.#app, this.#held);
    this.#held = held;
  }
}

const NOTHING: readonly Sized[] = [];

function releaseAll(app: App, things: readonly Sized[]): void {
  for (const thing of things) heldOf(app).release(thing);
}

/** Bytes that are held now. */
export const heldBytes = (app: App): number => heldOf(app).held;

function tooMuch(): Failure {
  return new Failure('rate_limited', 'requests with long permissions are under way, try again', {
    retry_after: 1,
  });
}
