import { parentPort } from 'node:worker_threads';
import { STARTED } from '../../../src/core/thread-start.ts';

// The entry of a thread that answers at once, is held until it is ended, or ends.

export interface HeldOrder {
  id: number;
  hold: boolean;
  exit?: boolean;
}

parentPort?.postMessage(STARTED);
parentPort?.on('message', ({ id, hold, exit }: HeldOrder) => {
  if (exit) process.exit(1);
  while (hold);
  parentPort?.postMessage({ id });
});
