import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { isOfCluster, listClusters } from '../../core/clusters.ts';
import { type Listed, listKeys, listMatching, listTold } from '../../core/key-list.ts';
import { readClusterNames } from '../mount-state/cluster-names.operations.ts';
import { listRevokedWithClusters } from '../mount-state/revocations.store.ts';
import { listRequests } from './requests.store.ts';

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

/** A row of a list, and the how many-th it is. */
type Numbered<Row> = Row & { number: number };

/** Reads a list of serial numbers a page at a time, and no more of them than are wanted. */
function readNumbered<Row extends { serial: string }>(
  read: (page: { after: string; limit: number }) => Promise<Row[]>,
  { after: first, limit }: { after: string; limit: number },
): Listed<Numbered<Row>> {
  const most = limit > 0 ? limit : Number.POSITIVE_INFINITY;
  return {
    keyOf: ({ serial }) => serial,
    async read(last) {
      const told = last?.number ?? 0;
      const some = Math.min(PAGE, most - told);
      if (some === 0) return [];
      const rows = await read({ after: last?.serial ?? first, limit: some });
      return rows.map((row, at) => ({ ...row, number: told + at + 1 }));
    },
  };
}

/** Serial numbers of everything that any cluster revoked, with the names of those. @see P-480 */
export async function listUnifiedRevoked(
  app: App,
  caller: Caller,
  input: { after: string; limit: number },
) {
  const { id: mount_id } = caller.mount;
  const nameOf = await readClusterNames(app);
  const read = (page: typeof input) => listRevokedWithClusters.all(app.db, { mount_id, ...page });
  return listTold(readNumbered(read, input), async function* tell(rows) {
    const told = rows.map(({ serial, clusters }) => {
      return [serial, { revoking_clusters: listClusters(clusters).map(nameOf) }] as const;
    });
    yield Object.fromEntries(told);
  });
}

/** Serial numbers that any cluster has asked another one to revoke, while that has not been done. @see P-487 */
export async function listRequested(
  app: App,
  caller: Caller,
  input: { after: string; limit: number },
) {
  const { id: mount_id } = caller.mount;
  const nameOf = await readClusterNames(app);
  const read = (page: typeof input) => listRequests.all(app.db, { mount_id, ...page });
  return listTold(readNumbered(read, input), async function* tell(rows) {
    const told = rows.map(({ serial, requested_by }) => {
      return [
        serial,
        { requesting_cluster: nameOf(requested_by), state: 'pending' as const },
      ] as const;
    });
    yield Object.fromEntries(told);
  });
}
