import { MAX_NAMES } from '../../x509/general-names.ts';

/** Characters and items that one evaluation makes at most: some tenths of a second, and a few MiB. */
const MOST_MADE = 4_000_000;
/** Items of one list: as many as a certificate may have names. */
const LONGEST_LIST = MAX_NAMES;

/** What an evaluation has left. */
export class Budget {
  #left = MOST_MADE;

  /** @throws Error once there is nothing left */
  spend(amount: number): void {
    this.#left -= amount;
    if (this.#left < 0) throw new Error('it makes too much: its texts and lists are too long');
  }

  list(length: number): void {
    if (length > LONGEST_LIST) {
      throw new Error(`a list would have ${length} items, at most ${LONGEST_LIST}`);
    }
  }
}
