import { parentPort } from 'node:worker_threads';
import { Failure } from '../../core/failure.ts';
import { STARTED } from '../../core/thread-start.ts';
import { type FromPlanThread, runPlanTask, type ToPlanThread } from './task.ts';

// The entry of the thread that decides on certificates of many names: thousands of them hold it up,
// and nobody else. It keeps nothing between two tasks.

parentPort?.postMessage(STARTED);
parentPort?.on('message', ({ id, task }: ToPlanThread) => {
  parentPort?.postMessage(answer(id, () => ({ id, type: 'planned', planned: runPlanTask(task) })));
});

function answer(id: number, work: () => FromPlanThread): FromPlanThread {
  try {
    return work();
  } catch (error) {
    if (error instanceof Failure) {
      const { kind, message, detail } = error;
      const { cause: _, ...rest } = detail;
      return { id, type: 'refused', kind, message, detail: rest };
    }
    return { id, type: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}
