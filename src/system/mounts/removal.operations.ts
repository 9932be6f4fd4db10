import { commitPage } from '../../access/endings/operations.ts';
import { listAliasIdsOfMount } from '../../access/identity/aliases.store.ts';
import {
  removeLogInsAfterCommit,
  removeTokensAfterCommit,
} from '../../access/leases/ended-tokens.operations.ts';
import { listLeasesOfAliases } from '../../access/leases/store.ts';
import { commitPlanned } from '../../access/standing/attempts.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { type EndingPages, MOST_NOTED, noteEnding } from '../../app/ended.ts';
import { type Mount, type Place, placeOf } from '../../app/mount.ts';
import type { NothingResult } from '../../app/output.ts';
import { requireRemovable } from '../../mounts/rules.ts';
import { deleteMount, findStoredMount } from '../../mounts/store.ts';
import { bumpPermissionVersion } from '../../store/permission-version.ts';
import type { Effect } from '../../store/write.ts';
import { deleteAliasesOfMount } from './purge.operations.ts';
import { insertRemovedMount } from './purge.store.ts';

/** Removes a mount; data under its id is out of reach at once, and deleted soon after. */
export async function disableMount(app: App, caller: Caller, input: Place): Promise<NothingResult> {
  const removed = await commitPlanned<Mount | undefined>(app, caller, async () => {
    const stored = await findStoredMount(app.db, placeOf(input));
    if (!stored) return { effects: [], result: undefined };
    const { mount } = stored;
    requireRemovable(mount);
    return {
      effects: await planRemoval(app, mount),
      result: mount,
      beforehand: {
        of: mount.id,
        async end() {
          if (mount.kind !== 'auth') return;
          await app.endDependants(app, pagesOf(app, caller), { auth_mount: mount });
          noteEnding(caller, 'lease_ids', await listLeasesByBatch(app, mount));
        },
      },
    };
  });
  if (removed?.kind === 'auth') {
    await deleteAliasesOfMount(app, afterwards(app, caller), removed.accessor);
    await removeTokensAfterCommit(app, caller, { mount_id: removed.id });
    await removeLogInsAfterCommit(app, caller);
  }
  return {};
}

/** Those of log-ins by batch tokens, as many as a request may end. */
async function listLeasesByBatch({ db }: App, { accessor }: Mount): Promise<string[]> {
  const alias_ids = await listAliasIdsOfMount(db, accessor, MOST_ALIASES);
  return alias_ids.length > 0 ? listLeasesOfAliases(db, alias_ids, MOST_NOTED.lease_ids) : [];
}

/** Of a mount, which a request asks for leases. */
const MOST_ALIASES = 500;

/** How what ends before a removal or a move is ended. Log-ins that came by a mount end with it at once, and none of them before. */
export function pagesOf(app: App, caller: Caller): EndingPages {
  return {
    commit: (effects, ended) => commitPage(app, caller, effects, ended),
    own_token_ids: [],
  };
}

/** What follows from a removal that is durable: whoever asked for it may have come in by what is gone. */
const afterwards = (app: App, caller: Caller) => ({
  commit: (effects: readonly Effect[]): Promise<void> =>
    commitPage(app, { ...caller, standing: undefined }, effects, {}),
});

/**
 * Whoever came in by a mount is nobody without it: tokens and leases are judged with their mount,
 * and their rows are removed later, however many they are. What whoever came in was called is deleted
 * before that is answered, when nobody can come in any more.
 */
async function planRemoval(app: App, mount: Mount): Promise<Effect[]> {
  return [
    deleteMount(mount),
    ...(mount.kind === 'auth' ? await app.planDependants(app, { auth_mount: mount }) : []),
    insertRemovedMount({
      id: mount.id,
      accessor: mount.accessor,
      removed_at: Math.floor(app.now() / 1000),
    }),
    ...bumpPermissionVersion(),
  ];
}
