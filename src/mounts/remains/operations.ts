import type { App } from '../../app.ts';
import type { Effect } from '../../store/write.ts';
import {
  deleteRemains,
  deleteRemovedMount,
  listRemains,
  listRemovedMounts,
  REMAINS,
} from './store.ts';

/** Keys deleted in one write set. */
const PAGE = 200;
/** Seconds after which no request that began on the mount can still be under way. */
const GRACE = 3_600;

/**
 * Deletes what is left of mounts that were disabled, page by page. Their rows are out of reach
 * from that moment on; here they give back their room, and sealed keys cease to exist.
 */
export async function deleteAllRemains(
  app: App,
  work: { commit(effects: Effect[]): Promise<void>; readonly stopping: boolean },
): Promise<void> {
  for (const { id, removed_at } of await listRemovedMounts(app.db)) {
    for (const place of REMAINS) {
      while (!work.stopping) {
        const last = (await listRemains(app.db, id, place, PAGE)).at(-1);
        if (last === undefined) break;
        await work.commit([deleteRemains(id, place, last)]);
      }
    }
    if (work.stopping) return;
    // Looked at again until then: a request under way may have written after the mount was gone.
    if (removed_at + GRACE <= Math.floor(app.now() / 1000)) {
      await work.commit([deleteRemovedMount(id)]);
    }
  }
}
