import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { isOfCluster, splitClusters } from '../../core/clusters.ts';
import { listKeys, listMatching, listTold } from '../../core/key-list.ts';
import { findSeal } from '../../seal/store.ts';
import { listRevokedWithClusters } from '../mount-state/revocations.store.ts';

/** Serial numbers of everything that this cluster revoked, in byte order, or one page of them. @see P-480 */
export function listRevoked(app: App, caller: Caller, page: { after: string; limit: number }) {
  const { id: mount_id } = caller.mount;
  const { cluster_name } = app.config;
  const read = async ({ after, limit }: { after: string; limit: number }) => {
    const found = await listRevokedWithClusters.all(app.db, { mount_id, after, limit });
    const rows = found.map(({ serial: key, clusters }) => {
      return { key, is_listed: isOfCluster(clusters, cluster_name) };
    });
    return { rows, more: rows.length === limit };
  };
  return listKeys((next) => listMatching(read, next), page);
}

/** Rows of a page of serial numbers. */
const PAGE = 1000;

/** A revoked serial number, and the how many-th of the list it is. */
interface Numbered {
  serial: string;
  clusters: string;
  number: number;
}

/** Serial numbers of everything that any cluster revoked, with the names of those. @see P-480 */
export async function listUnifiedRevoked(
  app: App,
  caller: Caller,
  input: { after: string; limit: number },
) {
  const { id: mount_id } = caller.mount;
  const most = input.limit > 0 ? input.limit : Number.POSITIVE_INFINITY;
  const read = async (last: Numbered | undefined): Promise<Numbered[]> => {
    const told = last?.number ?? 0;
    const limit = Math.min(PAGE, most - told);
    if (limit === 0) return [];
    const after = last?.serial ?? input.after;
    const rows = await listRevokedWithClusters.all(app.db, { mount_id, after, limit });
    return rows.map((row, at) => ({ ...row, number: told + at + 1 }));
  };
  const unnamed = (await findSeal(app.db))?.cluster_name ?? '';
  return listTold({ read, keyOf: ({ serial }) => serial }, async function* tell(rows) {
    const told = rows.map(({ serial, clusters }) => {
      return [
        serial,
        { revoking_clusters: splitClusters(clusters).map((name) => name || unnamed) },
      ] as const;
    });
    yield Object.fromEntries(told);
  });
}
