import { build } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import type { Resource } from '../resource.ts';

/** Notes that a token was used; one that is gone meanwhile stays gone. */
export function touchAuthToken(resource: Resource, now: number): Write {
  return write(
    build
      .updateTable('resource')
      .set({ body: JSON.stringify({ ...resource.body, last_used_ms: now }) })
      .where('id', '=', resource.id),
  );
}
