import type { App } from '../../app/app.ts';
import type { Soon } from '../../core/steps.ts';
import { isOf } from '../resource/handler.ts';
import type { Resource } from '../resource/resource.ts';
import { listKeyed } from '../resource/store.ts';
import { workerDefinition } from './operations.ts';
import { ALONE_KEY, type WorkerBody } from './worker.ts';

/**
 * The workers of servers and those that stand alone, loaded once until any node changes one. Those that are only expected are not among
 * them: nothing is asked of them, and anybody with the right to add them may add as many as he likes.
 */
export function readWorkers(app: App): Soon<Resource<WorkerBody>[]> {
  const list = async () => {
    const keyed = ['node', ALONE_KEY].map((word) => listKeyed(app.db, 'worker', word));
    return (await Promise.all(keyed)).flat().filter((one) => isOf(workerDefinition, one));
  };
  return app.cached('broker/workers', list, ['broker/workers']);
}
