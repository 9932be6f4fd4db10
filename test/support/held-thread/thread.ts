import { parentPort } from 'node:worker_threads';

// The entry of a thread that answers at once, or is held until it is ended.

export interface HeldOrder {
  id: number;
  hold: boolean;
}

parentPort?.on('message', ({ id, hold }: HeldOrder) => {
  while (hold);
  parentPort?.postMessage({ id });
});
