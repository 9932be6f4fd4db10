import { holdBounds, type Leniency } from './machine.ts';

/** What the tests' own looking-on took of this thread, in milliseconds. */
let looking = 0;

/** CPU time of this thread in milliseconds, without what only looks on. */
export function cpuTime(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000 - looking;
}

/** Looks at what the program does, which is no work of the program's: no {@link cpuTime} counts it. */
export function lookOn<Seen>(look: () => Seen): Seen {
  const before = cpuTime();
  try {
    return look();
  } finally {
    looking += cpuTime() - before;
  }
}

/** CPU time of this thread that the work takes, in milliseconds: free of what else the machine does. */
export function cpuOf(work: () => void): number {
  const before = cpuTime();
  work();
  return cpuTime() - before;
}

/** {@link cpuOf} of work that ends later, all that the thread does meanwhile included. */
export async function cpuUntil(work: () => Promise<unknown>): Promise<number> {
  const before = cpuTime();
  await work();
  return cpuTime() - before;
}

/** Holds that work takes less CPU time than so many milliseconds; see `holdBounds`. */
export const spendsAtMost = (
  most: number,
  work: () => void,
  leniency: Leniency = {},
): Promise<void> => holdBounds({ work: most }, async () => ({ work: cpuOf(work) }), leniency);
