import { listAliasIdsOfMount, planAliasPage } from '../../access/identity/aliases.store.ts';
import { listLeasesOfAliases, loosenSome } from '../../access/leases/store.ts';
import {
  endTokensOfMountInPages,
  type RemovalWork,
} from '../../access/tokens/expiration.operations.ts';
import type { App } from '../../app/app.ts';
import { eachApart } from '../../core/fairness/each-apart.ts';
import { listMounts } from '../../mounts/store.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import {
  deleteMountRows,
  deleteRemovedMount,
  LEASES,
  listMountRows,
  listOwners,
  listRemovedMounts,
  MOUNT_TABLES,
  type Place,
} from './purge.store.ts';

/** Rows deleted in one write set: whoever else writes waits for it. */
const PAGE = 500;
/** Seconds after which no request that began on the mount can still be under way. */
const GRACE = 3_600;

/**
 * Deletes what is left of mounts that were disabled, page by page. Their rows are out of reach
 * from that moment on; here they give back their room, and sealed keys cease to exist.
 */
export async function purgeRemovedMounts(app: App, work: RemovalWork): Promise<void> {
  await eachApart(await listRemovedMounts(app.db), async ({ id, accessor, removed_at }) => {
    if (work.stopping) return;
    // Aliases are left where the server that removed the mount was killed.
    if (accessor !== '') await deleteAliasesOfMount(app, work, accessor);
    await endTokensOfMountInPages(app, work, id);
    for (const place of MOUNT_TABLES) await deletePages(app, work, id, place);
    if (work.stopping) return;
    // Looked at again until then: a request under way may have written after the mount was gone.
    if (removed_at + GRACE <= Math.floor(app.now() / 1000)) {
      await work.commit([deleteRemovedMount(id)]);
    }
  });
}

/** Aliases that one write set deletes. */
const ALIASES = 500;

/**
 * Deletes the aliases of a mount that is gone, page by page, and has all permissions judged anew.
 */
export async function deleteAliasesOfMount(
  app: App,
  work: Pick<RemovalWork, 'commit'>,
  mount_accessor: string,
): Promise<void> {
  for (let found = false; ; found = true) {
    await loosenLeasesOfPage(app, work, mount_accessor);
    const page = await planAliasPage(app.db, mount_accessor, ALIASES);
    if (page) await work.commit([page]);
    else if (found) return work.commit(bumpPermissionVersion());
    else return;
  }
}

/** Detaches leases from some aliases, a page at a time: one alias may have any number, of as many log-ins. */
async function loosenLeasesOfPage(
  app: App,
  work: Pick<RemovalWork, 'commit'>,
  mount_accessor: string,
): Promise<void> {
  const alias_ids = await listAliasIdsOfMount(app.db, mount_accessor, ALIASES);
  for (;;) {
    const ids = alias_ids.length > 0 ? await listLeasesOfAliases(app.db, alias_ids, ALIASES) : [];
    if (ids.length < ALIASES) return;
    await work.commit([loosenSome(ids)]);
  }
}

/**
 * Ends tokens and leases whose mount is not there. Removals end them themselves; whatever is found
 * here was left by an older program, or by a database that was mended.
 */
export async function endStrays(app: App, work: RemovalWork): Promise<void> {
  // Before the mounts: one that is made meanwhile is among them.
  const owners = [...(await listOwners(app.db, 'token')), ...(await listOwners(app.db, 'lease'))];
  const known = new Set((await listMounts(app.db)).map(({ id }) => id));
  await eachApart(new Set(owners), async (id) => {
    if (work.stopping || known.has(id) || id === '') return;
    await endTokensOfMountInPages(app, work, id);
    await deletePages(app, work, id, LEASES);
  });
}

async function deletePages(
  app: App,
  work: RemovalWork,
  mount_id: string,
  place: Place,
): Promise<void> {
  while (!work.stopping) {
    const keys = await listMountRows(app.db, mount_id, place, PAGE);
    if (keys.length === 0) return;
    await work.commit([deleteMountRows(mount_id, place, keys)]);
  }
}
