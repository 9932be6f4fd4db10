import { textBytes } from '../../core/kept.ts';
import { ROOMS } from '../../core/rooms.ts';
import type { FinishedCrl } from './builder/job.ts';

/** What a CRL takes besides: with a thousand issuers its scope names each of them. */
const CRL_BYTES = 1024;

const weigh = ({ crl, scope }: FinishedCrl): number =>
  crl.der.length + textBytes(scope) + CRL_BYTES;

/** The CRLs that are kept ready to be served and to be built upon, the least used going first. */
export class CrlCache {
  // A map hands out its keys in the order they were put in: the first is the least used.
  readonly #crls = new Map<string, { number: number; finished: FinishedCrl }>();
  readonly #most: number;
  #bytes = 0;

  /** @param most_bytes of CRLs in memory; at least one is kept, however long it is */
  constructor(most_bytes: number = ROOMS.revocation_lists) {
    this.#most = most_bytes;
  }

  /** The CRL of a place if it is the one of this number. */
  find(place: string, number: number): FinishedCrl | undefined {
    const known = this.#crls.get(place);
    if (known?.number !== number) return undefined;
    this.#crls.delete(place);
    this.#crls.set(place, known);
    return known.finished;
  }

  /** The CRL of a place, however old. */
  findAny(place: string): FinishedCrl | undefined {
    return this.#crls.get(place)?.finished;
  }

  put(place: string, number: number, finished: FinishedCrl): void {
    this.#remove(place);
    this.#crls.set(place, { number, finished });
    this.#bytes += weigh(finished);
    for (const oldest of [...this.#crls.keys()]) {
      if (this.#bytes <= this.#most || oldest === place) break;
      this.#remove(oldest);
    }
  }

  #remove(place: string): void {
    const known = this.#crls.get(place);
    if (!known) return;
    this.#crls.delete(place);
    this.#bytes -= weigh(known.finished);
  }
}
