import { MAX_NAMES } from '../../x509/general-names.ts';

/** Characters and items that one evaluation makes at most: some tenths of a second, and a few MiB. */
const MOST_MADE = 4_000_000;
/**
 * Steps that one evaluation takes at most: a second or two, as everything spends what it takes before it begins.
 */
const MOST_STEPS = 10_000_000;
/** Characters or bytes that are looked at in one step. */
const STEP = 16;
/** Items of one list: as many as a certificate may have names. */
const LONGEST_LIST = MAX_NAMES;

/** What an evaluation has left. */
export class Budget {
  #left = MOST_MADE;
  #steps = MOST_STEPS;
  #ended: string | undefined;

  /** @throws Error once there is nothing left */
  spend(amount: number): void {
    this.#left -= amount;
    if (this.#left < 0) this.end('it makes too much: its texts and lists are too long');
    this.#requireLeft();
  }

  /** @throws Error once there are no steps left */
  step(steps: number): void {
    this.#steps -= steps;
    if (this.#steps < 0) this.end('it takes too long: its texts and lists are too long');
    this.#requireLeft();
  }

  /** Once is for good: an expression goes on after an error where something else decides, as `||` does. */
  #requireLeft(): void {
    if (this.#ended !== undefined) throw new Error(this.#ended);
  }

  /** Steps for looking at so many characters or bytes. */
  look(length: number): void {
    this.step(1 + Math.floor(length / STEP));
  }

  /** Steps for looking for one text in another: both are gone through once. */
  search(within: number, length: number): void {
    this.look(2 * (within + length));
  }

  /** Steps for taking so many values out of a list, a map or a message, one by one. */
  take(count: number): void {
    this.step(1 + count);
  }

  list(length: number): void {
    if (length > LONGEST_LIST) {
      this.end(`a list would have ${length} items, at most ${LONGEST_LIST}`);
    }
  }

  /** @throws Error now, and whenever something is to be spent from now on */
  end(because: string): never {
    this.#ended ??= because;
    throw new Error(this.#ended);
  }
}
