import { holdBounds, type Leniency } from './machine.ts';

/** CPU time of this thread that the work takes, in milliseconds: free of what else the machine does. */
export function cpuOf(work: () => void): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** {@link cpuOf} of work that ends later, all that the thread does meanwhile included. */
export async function cpuUntil(work: () => Promise<unknown>): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** Holds that work takes less CPU time than so many milliseconds; see `holdBounds`. */
export const spendsAtMost = (
  most: number,
  work: () => void,
  leniency: Leniency = {},
): Promise<void> => holdBounds({ work: most }, async () => ({ work: cpuOf(work) }), leniency);
