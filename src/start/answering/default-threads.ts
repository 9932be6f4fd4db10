import { availableParallelism, totalmem } from 'node:os';

/** What of memory there is for each thread that answers: what it takes at rest, and what its bounds let callers take of it. */
const BYTES_FOR_EACH = 512 * 1024 ** 2;

/** What a machine, or the container in it, lets a process have. */
export interface Machine {
  /** Cores. */
  cores: number;
  /** Bytes of memory. */
  memory: number;
}

function thisMachine(): Machine {
  const bounded = process.constrainedMemory();
  return {
    cores: availableParallelism(),
    // Where nothing bounds a process this is zero, or more than there is.
    memory: bounded > 0 ? Math.min(bounded, totalmem()) : totalmem(),
  };
}

/** How many threads answer where nobody says: one for each core, fewer where memory is short. */
export function defaultThreads({ cores, memory }: Machine = thisMachine()): number {
  return Math.max(1, Math.min(cores, Math.floor(memory / BYTES_FOR_EACH)));
}
