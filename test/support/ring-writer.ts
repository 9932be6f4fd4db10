import { parentPort, workerData } from 'node:worker_threads';
import { AnswerRing } from '../../src/pki/ocsp/answer-ring.ts';

// Writes one answer after the other, of 64 keys in turn; all of one tells its number.

const shared: SharedArrayBuffer = workerData;
const ring = new AnswerRing(shared, 0, shared.byteLength);
for (let number = 0; ; number = (number + 1) % 1_000_000) {
  ring.keep(Buffer.from(`key ${number % 64}`), {
    writes: number,
    told: `${number}`.repeat(1 + (number % 20)),
    body: new Uint8Array(1 + ((number * 7) % 900)).fill(number % 251),
  });
  if (number === 1000) parentPort?.postMessage('begun');
}
