import type { App } from '../../../app.ts';
import type { Resource } from '../../resource.ts';
import { listOfType } from '../../resources/store.ts';

/** Every worker, loaded once until any node changes one. */
export function readWorkers(app: App): Promise<Resource[]> {
  return app.cached('broker/workers', () => listOfType(app.db, 'worker'));
}
