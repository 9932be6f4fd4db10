import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of all that is still in use. */
export function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}

/** Bytes beside the heap, of buffers that are still in use: others are let go of some turns after that was found out. */
export async function buffersUsed(): Promise<number> {
  for (let turn = 0; turn < 4; turn++) {
    heapUsed();
    await nextTurn();
  }
  return process.memoryUsage().arrayBuffers;
}
