/**
 * Clusters are told apart by their names. The one of which no name is configured has the empty one. Several clusters
 * in one column are written with commas between them.
 */

/** The form of a cluster's name: it stands in names of rows, between slashes and commas. */
export const CLUSTER_NAME = /^[A-Za-z0-9][A-Za-z0-9.-]{0,62}$/;

/** In a column: what is of the cluster without a name is of each. */
export const EVERY_CLUSTER = '';

export const splitClusters = (clusters: string): string[] => clusters.split(',');

/**
 * Says whether a cluster is one of those in a column. What is of the one without a name is of each: a server that is
 * given a name later would take back what it has revoked before.
 */
export const isOfCluster = (clusters: string, cluster: string): boolean =>
  clusters === cluster || splitClusters(clusters).some((name) => name === cluster || name === '');

/** Those in a column by name: that what they have became everybody's is left out. */
export const listClusters = (clusters: string): string[] =>
  splitClusters(clusters).filter((name, at) => at === 0 || name !== EVERY_CLUSTER);

/** Of those in a column the one that was there first: it issued a certificate, or has it from elsewhere. */
export const firstCluster = (clusters: string): string => splitClusters(clusters)[0] ?? '';

export const addCluster = (clusters: string, cluster: string): string => `${clusters},${cluster}`;

/**
 * From which revision on something is of a cluster, by the same rule as {@link isOfCluster}.
 *
 * @param row `joined` has those that came later than `revision` says: `,west=17,north=23`
 * @returns undefined where it is not of the cluster
 */
export function sinceWhen(
  { clusters, revision, joined }: { clusters: string; revision: number; joined: string },
  cluster: string,
): number | undefined {
  if (!isOfCluster(clusters, cluster)) return undefined;
  if (joined === '') return revision;
  const later = new Map(
    joined
      .split(',')
      .filter((one) => one !== '')
      .map((one) => {
        const [name = '', since] = one.split('=');
        return [name, Number(since)];
      }),
  );
  const having = splitClusters(clusters).filter((name) => name === cluster || name === '');
  return Math.min(...having.map((name) => later.get(name) ?? revision));
}
