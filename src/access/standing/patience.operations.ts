import { isConflict } from '../../core/failure.ts';
import { JudgedAnew } from './operations.ts';

/** Each attempt means that somebody else's change of permissions was durable. */
const ATTEMPTS = 50;

/** After so many attempts that others were quicker than, these wait for the next ones. */
const LOSSES = 2;

/** Lets so many conflicts pass, and those that only had the request judged again besides. */
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

  /** Whether a request that goes on has to go first: changes of what is permitted have been quicker again and again. */
  get isWorn(): boolean {
    return this.#judged >= LOSSES;
  }

  /** Whether others have been quicker again and again with what is planned. */
  get isFarBehind(): boolean {
    return this.#plans <= this.#of - LOSSES;
  }

  /** Whether others were quicker with what is planned. */
  get isBehind(): boolean {
    return this.#plans < this.#of;
  }

  /** Whether it changes what somebody is permitted, as far as an attempt has shown. */
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
