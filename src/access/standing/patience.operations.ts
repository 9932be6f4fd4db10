import { isConflict } from '../../core/failure.ts';
import { JudgedAnew } from './operations.ts';

/** Most attempts: each further one means that somebody else has changed permissions. */
const ATTEMPTS = 50;

/** After so many lost attempts, others have to wait for the next one. */
const LOSSES = 2;

/** Allows so many conflicts, not counting those by which the request was only judged again. */
export class Patience {
  readonly #of: number;
  #plans: number;
  #all = ATTEMPTS;
  #judged = 0;
  #changes = false;

  constructor(plans: number) {
    this.#of = plans;
    this.#plans = plans;
  }

  /** Whether the request has to go first: it has lost to changes of permissions again and again. */
  get isWorn(): boolean {
    return this.#judged >= LOSSES;
  }

  /** Whether its plans have lost to others again and again. */
  get isFarBehind(): boolean {
    return this.#plans <= this.#of - LOSSES;
  }

  /** Whether one of its plans has lost to others. */
  get isBehind(): boolean {
    return this.#plans < this.#of;
  }

  /** Whether the request changes permissions, as far as an attempt has shown. */
  get changes(): boolean {
    return this.#changes;
  }

  bear(error: unknown): void {
    if (!isConflict(error)) throw error;
    this.#all -= 1;
    if (error instanceof JudgedAnew) {
      this.#judged += 1;
      this.#changes ||= error.changes;
    } else this.#plans -= 1;
    if (this.#plans === 0 || this.#all === 0) throw error;
  }
}
