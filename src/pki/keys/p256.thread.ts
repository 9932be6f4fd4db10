import { parentPort } from 'node:worker_threads';
import { makePairs } from './p256.pool.ts';

// The entry of the thread that makes P-256 keys ahead of time, as many as it is told. It keeps none.

parentPort?.on('message', (count: number) => {
  const pairs = makePairs(count);
  parentPort?.postMessage(pairs, [pairs.buffer]);
});
