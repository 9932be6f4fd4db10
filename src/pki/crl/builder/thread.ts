import { parentPort, workerData } from 'node:worker_threads';
import { Failure } from '../../../core/failure.ts';
import { STARTED } from '../../../core/thread-start.ts';
import { type DatabasePlace, openReading } from '../../../store/reading.ts';
import { signSync } from '../../../x509/algorithms.ts';
import { makeCrl, makeUnsignedCrl, remakeCrl } from './jobs.ts';
import type { FromCrlThread, ToCrlThread } from './messages.ts';
import { reportExternalMemory } from './weight.ts';

// The entry of the thread that makes long CRLs: reading a million rows, hashing and signing
// forty megabytes hold it up, and nobody else. It keeps nothing between two CRLs.

const place: DatabasePlace = workerData;
const { db } = await openReading(place);

function send(message: FromCrlThread): void {
  parentPort?.postMessage(message);
}

async function work(order: ToCrlThread): Promise<void> {
  const { id, job, task } = order;
  if (job.basis) reportExternalMemory(job.basis.crl.der);
  try {
    if (task.kind === 'make') {
      const { key } = task;
      const signed = await makeCrl(db, job, (tbs) => signSync(key, job.algorithm, tbs));
      send({ id, type: 'made', ...signed });
    } else if (task.kind === 'lay out') {
      send({ id, type: 'laid out', layout: await makeUnsignedCrl(db, job) });
    } else {
      send({ id, type: 'remade', crl: await remakeCrl(db, job, task) });
    }
  } catch (error) {
    if (error instanceof Failure) {
      send({ id, type: 'refused', kind: error.kind, message: error.message });
    } else {
      send({ id, type: 'failed', message: error instanceof Error ? error.message : String(error) });
    }
  }
}

parentPort?.postMessage(STARTED);
parentPort?.on('message', (order: ToCrlThread) => void work(order));
