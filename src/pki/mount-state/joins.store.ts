import { sql as text } from 'kysely';
import { addCluster, EVERY_CLUSTER, isOfCluster } from '../../core/clusters.ts';
import { prepared, preparedWrite } from '../../store/database.ts';
import type { Write } from '../../store/write.ts';
import { type ClusterRevocation, grow, LISTED } from './revocations.store.ts';

const setClusters = preparedWrite(
  (sql, p: { mount_id: string; serial: string; read: string; clusters: string; name: string }) => {
    const revision = sql
      .selectFrom('pki_revision')
      .select('pki_revision.revision')
      .where('pki_revision.mount_id', '=', p.mount_id);
    return sql
      .updateTable('pki_revocation')
      .set({
        clusters: p.clusters,
        joined: text<string>`joined || ${p.name} || ${revision}`,
        joined_revision: revision,
      })
      .where('mount_id', '=', p.mount_id)
      .where('serial', '=', p.serial)
      .where('clusters', '=', p.read);
  },
  { rows: 1, conflict: 'the certificate was revoked elsewhere meanwhile' },
);

/**
 * One more cluster revokes a certificate that another one has revoked: from now on it is on the CRL of both.
 *
 * The row's revision stays: CRLs that have it are made again, or are being made, of what there is up to theirs.
 */
export function joinRevocation(
  mount_id: string,
  { serial, clusters }: Pick<ClusterRevocation, 'serial' | 'clusters'>,
  cluster: string,
): Write[] {
  return [
    grow({ mount_id }),
    setClusters({
      mount_id,
      serial,
      read: clusters,
      clusters: addCluster(clusters, cluster),
      name: `,${cluster}=`,
    }),
  ];
}

/** Of what some clusters have revoked: from now on it is on the CRL of each, whichever there are. */
export const shareRevocation = (
  mount_id: string,
  known: Pick<ClusterRevocation, 'serial' | 'clusters'>,
): Write[] =>
  isOfCluster(known.clusters, EVERY_CLUSTER) ? [] : joinRevocation(mount_id, known, EVERY_CLUSTER);

/**
 * Revocations of a revision and of earlier ones that a further cluster has made after another one, those that were joined first
 * coming first; so many at most.
 */
export const revocationsJoined = prepared(
  (sql, p: { mount_id: string; after: number; of: number; limit: number }) =>
    sql
      .selectFrom('pki_revocation')
      .select([...LISTED, 'joined_revision'])
      .where('mount_id', '=', p.mount_id)
      .where('joined_revision', '>', p.after)
      .where('revision', '<=', p.of)
      .orderBy('joined_revision')
      .limit(p.limit),
);
