import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of all that is still in use. */
export function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}

/** Bytes beside the heap, of buffers that are still in use. */
export function buffersUsed(): number {
  // The second time ends what the first has begun.
  heapUsed();
  heapUsed();
  return process.memoryUsage().arrayBuffers;
}
