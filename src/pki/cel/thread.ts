import { parentPort } from 'node:worker_threads';
import { Failure } from '../../core/failure.ts';
import { STARTED } from '../../core/thread-start.ts';
import { type FromCelThread, runCelTask, type ToCelThread } from './task.ts';

// The entry of the thread that evaluates programs: what holds it up holds up nobody else.

parentPort?.postMessage(STARTED);
parentPort?.on('message', ({ id, task }: ToCelThread) => {
  parentPort?.postMessage(answer(id, task));
});

function answer(id: number, task: ToCelThread['task']): FromCelThread {
  try {
    return { id, type: 'done', verdict: runCelTask(task) };
  } catch (error) {
    if (error instanceof Failure) {
      const { kind, message, detail } = error;
      const { cause: _, ...rest } = detail;
      return { id, type: 'refused', kind, message, detail: rest };
    }
    return { id, type: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}
