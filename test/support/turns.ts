import { cpuTime } from './cpu-time.ts';
import { holdBounds, type Leniency } from './machine.ts';

/** Milliseconds of CPU time between two turns of the loop, the client's own share included. */
export const LONGEST_TURN = 50;

interface Circumstances extends Leniency {
  /** What is looked at, where a test looks at more than one thing. */
  what?: string;
  /** Done before each attempt, and not measured. */
  prepare?: () => Promise<unknown>;
}

/** Holds that work leaves their turn to all others in time; see `holdBounds`. */
export async function holdsNobodyUp(
  work: () => Promise<void>,
  { what = 'turn', prepare = async () => {}, ...leniency }: Circumstances = {},
): Promise<void> {
  const attempt = async (): Promise<Record<string, number>> => {
    await prepare();
    return { [what]: await longestTurn(work) };
  };
  await holdBounds({ [what]: LONGEST_TURN }, attempt, leniency);
}

/**
 * The most CPU time that the thread spends between two turns of its loop while the work is under
 * way, in milliseconds: for so long nobody else is answered, whatever else the machine does.
 */
export async function longestTurn(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let last = cpuTime();
  const look = (): void => {
    const now = cpuTime();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  try {
    await work();
    look();
  } finally {
    clearInterval(timer);
  }
  return longest;
}
