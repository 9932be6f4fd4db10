import { type Measured, ofEnded } from '../../metrics/meters.operations.ts';
import type { Dialogue } from './dialogue.ts';
import { within } from './within.ts';

/** Of a thread that is busy for longer it is told what it said last. */
const METERS_MS = 2_000;

/** A thread that is asked what it has measured. */
interface Measuring {
  dialogue: Dialogue;
  /** As it was told last. */
  measured: Measured | undefined;
}

/** What threads have measured. What those that do not tell in time, or have ended, have counted is as they told it last: counts never fall. */
export class AllMeters {
  /** Of those that have ended. */
  #former: Measured | undefined;
  readonly #lost = new WeakSet<Measuring>();

  async read(threads: Iterable<Measuring>): Promise<Measured[]> {
    const all = [...threads];
    await Promise.all(
      all.map(async (thread) => {
        const telling = within(METERS_MS, thread.dialogue.ask({ type: 'meters' }));
        const told = await telling.catch(() => thread.measured);
        thread.measured = told as Measured | undefined;
      }),
    );
    // What those have counted that have ended meanwhile is among the former.
    const present = all.filter((thread) => !this.#lost.has(thread));
    return [...present.map(({ measured }) => measured), this.#former].filter(
      (one) => one !== undefined,
    );
  }

  /** It has ended. */
  lose(thread: Measuring): void {
    const { measured } = thread;
    this.#lost.add(thread);
    if (measured) this.#former = ofEnded([measured, ...(this.#former ? [this.#former] : [])]);
  }
}
