import { textBytes } from '../../core/kept.ts';
import { ROOMS } from '../../core/rooms.ts';
import type { FinishedCrl } from './builder/job.ts';
import type { HandedCrl, PassedCrl } from './handed.ts';

/** What a CRL takes besides: with a thousand issuers its scope names each of them. */
const CRL_BYTES = 1024;

const weigh = ({ crl, scope }: FinishedCrl): number =>
  crl.der.length + textBytes(scope) + CRL_BYTES;

interface KeptCrl {
  number: number;
  finished: FinishedCrl;
  /** Of one that was handed to another thread; see {@link HandedCrl}. */
  used?: Int32Array;
}

/** The CRLs that are kept ready to be served and to be built upon, the least used going first. */
export class CrlCache {
  // A map hands out its keys in the order they were put in: the first is the least used.
  readonly #crls = new Map<string, KeptCrl>();
  readonly #most: number;
  #bytes = 0;
  #onPassed: (passed: PassedCrl) => void = () => {};

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

  /** As {@link find}, for another thread, which says by `used` that it goes on reading it. */
  handOver(place: string, number: number): HandedCrl | undefined {
    const finished = this.find(place, number);
    const kept = this.#crls.get(place);
    if (!finished || !kept) return undefined;
    kept.used ??= new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    return { number, der: finished.crl.der, used: kept.used };
  }

  /** Calls back when a CRL that was handed to other threads is not kept any more. */
  onPassed(listener: (passed: PassedCrl) => void): void {
    this.#onPassed = listener;
  }

  put(place: string, number: number, finished: FinishedCrl): void {
    this.#remove(place);
    this.#crls.set(place, { number, finished });
    this.#bytes += weigh(finished);
    if (this.#bytes <= this.#most) return;
    const inOrder = [...this.#crls.keys()];
    // What others go on reading goes last.
    for (const oldest of [...inOrder.filter((one) => !this.#spare(one)), ...inOrder]) {
      if (this.#bytes <= this.#most) break;
      if (oldest !== place) this.#remove(oldest);
    }
  }

  /** Whether it was read elsewhere since this was last asked; then it counts as used now. */
  #spare(place: string): boolean {
    const kept = this.#crls.get(place);
    if (!kept?.used || Atomics.exchange(kept.used, 0, 0) === 0) return false;
    this.#crls.delete(place);
    this.#crls.set(place, kept);
    return true;
  }

  #remove(place: string): void {
    const known = this.#crls.get(place);
    if (!known) return;
    this.#crls.delete(place);
    this.#bytes -= weigh(known.finished);
    if (known.used) this.#onPassed({ place, number: known.number });
  }
}
