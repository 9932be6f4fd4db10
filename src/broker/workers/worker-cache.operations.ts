import type { App } from '../../app/app.ts';
import type { Soon } from '../../core/steps.ts';
import type { Resource } from '../resource/resource.ts';
import { listKeyed } from '../resource/store.ts';

/**
 * The workers of servers, loaded once until any node changes one. Those that are only expected are not among
 * them: nothing is asked of them, and anybody with the right to add them may add as many as he likes.
 */
export function readWorkers(app: App): Soon<Resource[]> {
  return app.cached('broker/workers', () => listKeyed(app.db, 'worker', 'node'), [
    'broker/workers',
  ]);
}
