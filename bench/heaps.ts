// Loaded into a server before its program (`--expose-gc --import`), in each of its threads: now and then garbage is
// collected, and what is left goes into the file GATEHOUSE_BENCH_HEAPS as one line of JSON (`HeapLook`).

import { appendFileSync } from 'node:fs';
import { threadId, threadName } from 'node:worker_threads';

/** Pauses for collections are to be rarer than one request of a hundred, so that they are not its p99. */
const EVERY = 60_000;

export interface HeapLook {
  thread: string;
  /** Bytes of JavaScript objects that are still in use. */
  heap: number;
  /** Bytes that these hold outside the heap, buffers among them. */
  external: number;
}

const path = process.env.GATEHOUSE_BENCH_HEAPS;
if (path !== undefined && globalThis.gc !== undefined) {
  setInterval(() => {
    globalThis.gc?.();
    const { heapUsed: heap, external } = process.memoryUsage();
    const thread = `${threadName || 'main'} ${threadId}`;
    appendFileSync(path, `${JSON.stringify({ thread, heap, external } satisfies HeapLook)}\n`);
  }, EVERY).unref();
}
