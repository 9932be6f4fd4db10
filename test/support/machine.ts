import assert from 'node:assert/strict';

/** How a machine does work that is always the same, just now. */
export interface Pace {
  /** How many times more CPU time it takes than usual, 1 at least. */
  slowness: number;
  /** The longest that a piece of it took beyond the others, in milliseconds: so long the machine was elsewhere. */
  pause: number;
}

/** Milliseconds of CPU time that a piece of the work takes on a quiet machine of those on which bounds were set. */
const USUAL_MS = 0.8;
const ROUNDS = 1_000_000;
/** Together longer than the periods in which virtual machines are given a share of a processor. */
const PIECES = 200;
/** Beyond this a machine is not slow but something is wrong. */
const MOST_SLOWNESS = 10;
const MOST_PAUSE_MS = 250;

/**
 * Virtual machines are given less of a processor at times, and now and then none for some while, and both counts as
 * CPU time of whoever was at work: that is no fault of what is measured.
 */
export function measurePace(): Pace {
  // Once before, so that compiling is not counted.
  takePiece();
  const taken = Array.from({ length: PIECES }, takePiece).sort((one, other) => one - other);
  const mean = taken.reduce((sum, one) => sum + one, 0) / PIECES;
  const median = taken[PIECES / 2] ?? 0;
  return {
    slowness: Math.min(MOST_SLOWNESS, Math.max(1, mean / USUAL_MS)),
    pause: Math.min(MOST_PAUSE_MS, (taken.at(-1) ?? 0) - median),
  };
}

function takePiece(): number {
  const before = process.threadCpuUsage();
  let sum = 0;
  for (let at = 0; at < ROUNDS; at++) sum += at % 7;
  const { user, system } = process.threadCpuUsage(before);
  return sum > 0 ? (user + system) / 1000 : 0;
}

/** Whether that is what the work may take, on a machine that goes at such a pace. */
export const isWithin = (took: number, most: number, { slowness, pause }: Pace): boolean =>
  took < most * slowness || took - pause < most;

/** What one may take is tried so often: what always takes longer never passes. */
const ATTEMPTS = 3;

export interface Leniency {
  /** 1 where the work cannot be done again. */
  attempts?: number;
  pace?: () => Pace;
}

/**
 * Holds bounds of CPU time, on a machine of any speed: of several attempts one has to stay within all of them. A
 * machine that is slow just now is allowed more, in proportion, and one that pauses the longest of its pauses.
 *
 * @param bounds milliseconds by name, each at least three times what it takes on a quiet machine
 * @param attempt does the work and tells what it took; from 0 on, for those that need something new each time
 */
export async function holdBounds<Name extends string>(
  bounds: Readonly<Record<Name, number>>,
  attempt: (nth: number) => Promise<Readonly<Record<Name, number>>>,
  { attempts = ATTEMPTS, pace = measurePace }: Leniency = {},
): Promise<void> {
  const said: string[] = [];
  for (let nth = 0; nth < attempts; nth += 1) {
    const taken: Readonly<Record<string, number>> = await attempt(nth);
    const over = Object.entries<number>(bounds)
      .map(([name, most]) => ({ name, most, took: taken[name] ?? Number.POSITIVE_INFINITY }))
      .filter(({ most, took }) => took >= most);
    if (over.length === 0) return;
    const { slowness, pause } = pace();
    if (over.every(({ most, took }) => isWithin(took, most, { slowness, pause }))) return;
    const each = over.map(({ name, most, took }) => `${name}: ${took} ms of ${most}`);
    said.push(
      `${each.join(', ')}, ${slowness.toFixed(1)} times as slow, ${pause.toFixed(1)} ms paused`,
    );
  }
  assert.fail(said.join('; '));
}
