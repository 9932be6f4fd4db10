import { reportExternalMemory } from './builder/weight.ts';

/** A CRL as one thread gives it to another: the memory is shared. */
export interface HandedCrl {
  number: number;
  der: Uint8Array;
  /** One number; above 0: it was read since the thread that has it last looked. */
  used: Int32Array;
}

/** That a CRL of a place, up to this number, is not kept any more by who has handed it over. */
export interface PassedCrl {
  place: string;
  number: number;
}

/** CRLs that another thread has, and this one reads: for no longer than that keeps them. */
export class HandedCrls {
  readonly #crls = new Map<string, HandedCrl>();
  /** By place of what is being handed over, the number up to which that has passed meanwhile. */
  readonly #coming = new Map<string, number>();

  find(place: string, number: number): Uint8Array | undefined {
    const known = this.#crls.get(place);
    if (known?.number !== number) return undefined;
    Atomics.store(known.used, 0, 1);
    return known.der;
  }

  /** @param ask for one of a place; once at a time */
  async take(place: string, ask: () => Promise<HandedCrl | undefined>): Promise<void> {
    this.#coming.set(place, 0);
    try {
      const handed = await ask();
      if (!handed || handed.number <= (this.#coming.get(place) ?? 0)) return;
      reportExternalMemory(handed.der);
      this.#crls.set(place, handed);
    } finally {
      this.#coming.delete(place);
    }
  }

  pass({ place, number }: PassedCrl): void {
    const coming = this.#coming.get(place);
    if (coming !== undefined) this.#coming.set(place, Math.max(coming, number));
    const known = this.#crls.get(place);
    if (known && known.number <= number) this.#crls.delete(place);
  }

  get size(): number {
    return this.#crls.size;
  }
}
