import { LoopTurns } from './loop-turns.ts';

/** Work of more milliseconds than this lets others go first before it goes on. */
const LONG = 5;
/** Work of fewer waits for nobody, however much others do: most requests need no more. */
const LITTLE = 1;

/** All that breathe have some milliseconds of a turn of the event loop together, whomever they work for. */
const turns = new LoopTurns();

/**
 * For work in many small steps, which together may take long: others have their turn meanwhile. Of those
 * that do such work at the same time each goes on in its own turn, by network, site, address and request.
 */
export class Breath {
  #since = performance.now();

  /** Whether it is time. Asked before `take` where steps take less than a microtask does. */
  get isDue(): boolean {
    const spent = performance.now() - this.#since;
    return spent >= LONG || (spent >= LITTLE && turns.isOver);
  }

  /** To be called between two steps. */
  async take(): Promise<void> {
    if (!this.isDue) return;
    await turns.next();
    this.#since = performance.now();
  }
}

/** Waits for a turn in any case, in the same line: before a piece of work that is long by itself. */
export function nextBreath(): Promise<void> {
  return turns.next();
}

/**
 * What others have begun, for one of hundreds who may wait for it: together they would all go on, to do what they ask
 * for, in one turn of the event loop.
 */
export async function afterOthers<Result>(begun: Promise<Result>): Promise<Result> {
  try {
    return await begun;
  } finally {
    await nextBreath();
  }
}
