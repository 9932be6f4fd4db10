import type { App } from '../../app/app.ts';
import { isOf } from '../resource/handler.ts';
import type { Resource } from '../resource/resource.ts';
import { listKeyed } from '../resource/store.ts';
import { workerDefinition } from './operations.ts';
import type { WorkerBody } from './worker.ts';

/**
 * The workers of servers, loaded once until any node changes one. Those that are only expected are not among
 * them: nothing is asked of them, and anybody with the right to add them may add as many as he likes.
 */
export function readWorkers(app: App): Promise<Resource<WorkerBody>[]> {
  const list = async () =>
    (await listKeyed(app.db, 'worker', 'node')).filter((one) => isOf(workerDefinition, one));
  return app.cached('broker/workers', list, ['broker/workers']);
}
