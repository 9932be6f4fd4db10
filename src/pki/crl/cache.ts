import { textBytes } from '../../core/kept.ts';
import { ROOMS } from '../../core/rooms.ts';
import type { FinishedCrl } from './builder/job.ts';

/** What a list takes besides: with a thousand issuers its scope names each of them. */
const LIST_BYTES = 1024;

const weigh = ({ list, scope }: FinishedCrl): number =>
  list.der.length + textBytes(scope) + LIST_BYTES;

/** The lists that are kept ready to be served and to be built upon, the least used going first. */
export class CrlCache {
  // A map hands out its keys in the order they were put in: the first is the least used.
  readonly #lists = new Map<string, { number: number; finished: FinishedCrl }>();
  readonly #most: number;
  #bytes = 0;

  /** @param most_bytes of lists in memory; at least one is kept, however long it is */
  constructor(most_bytes: number = ROOMS.revocation_lists) {
    this.#most = most_bytes;
  }

  /** The list of a place if it is the one of this number. */
  find(place: string, number: number): FinishedCrl | undefined {
    const known = this.#lists.get(place);
    if (known?.number !== number) return undefined;
    this.#lists.delete(place);
    this.#lists.set(place, known);
    return known.finished;
  }

  /** The list of a place, however old. */
  findAny(place: string): FinishedCrl | undefined {
    return this.#lists.get(place)?.finished;
  }

  put(place: string, number: number, finished: FinishedCrl): void {
    this.#remove(place);
    this.#lists.set(place, { number, finished });
    this.#bytes += weigh(finished);
    for (const oldest of [...this.#lists.keys()]) {
      if (this.#bytes <= this.#most || oldest === place) break;
      this.#remove(oldest);
    }
  }

  #remove(place: string): void {
    const known = this.#lists.get(place);
    if (!known) return;
    this.#lists.delete(place);
    this.#bytes -= weigh(known.finished);
  }
}
