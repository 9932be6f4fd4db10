import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { chooseUrls, readClusterPaths, readMountState } from '../mount-state/operations.ts';
import { type RevocationState, readRevocationState } from '../mount-state/revocations.store.ts';
import type { MountState } from '../mount-state/state.ts';
import type { ClusterPaths } from '../mount-state/urls.ts';
import type { CrlConfig } from './config.ts';
import { crlFingerprint, type IssuerClass, planClass, planScope } from './issuer-class.ts';
import { ALL, type CrlKind, completeOf, crlName } from './kind.ts';
import { readCrlConfig } from './settings.operations.ts';
import { readShardUrls } from './shards.operations.ts';
import { findCrl, type StoredCrl } from './store.ts';

/** Which CRL is meant. */
export interface CrlPlace {
  mount_id: string;
  issuers: IssuerClass;
  kind: CrlKind;
}

export const placeOf = ({ mount_id, issuers, kind }: CrlPlace): string =>
  `${mount_id}/${crlName(issuers.id, kind)}`;

/** What a CRL has to be built from at this moment. */
export interface CrlContext extends CrlPlace {
  config: CrlConfig;
  state: RevocationState;
  /** See `CrlScope`. */
  scope: string;
  /** See {@link crlFingerprint}. */
  fingerprint: string;
  /** Of a complete CRL: where its deltas are. */
  freshest: readonly string[];
  /** Of a shard: the URLs of which its certificates name one. */
  points: readonly string[];
  /** Of a delta: the complete CRL that it adds to. */
  complete: StoredCrl | undefined;
}

/** @returns undefined when the class has no issuer any more, for a delta of no CRL, or for a shard of no certificate */
export async function readCrlContext(
  app: App,
  { mount_id, issuers: { members }, kind }: CrlPlace,
): Promise<CrlContext | undefined> {
  const mountState: MountState = await readMountState(app, mount_id);
  const config = await readCrlConfig(app, mount_id);
  const state = await readRevocationState(app.db, mount_id);
  const member = members.find(({ id }) => mountState.issuers.has(id));
  const issuer = member && mountState.issuers.get(member.id);
  if (!issuer) return undefined;
  const issuers = planClass(mountState, issuer);
  const { enable_delta, disable, expiry, unified_crl_on_existing_paths } = config;
  const { of, shard } = kind;
  const points = await readShardUrls(app, { mount_id, class_id: issuers.id }, kind);
  if (shard && points.length === 0) return undefined;
  const complete = kind.delta
    ? await findCrl(app.db, mount_id, crlName(issuers.id, completeOf(kind)))
    : undefined;
  if (kind.delta && !complete) return undefined;
  const after = complete && { after: complete.revision };
  const basis = { epoch: state.epoch, disable, of, shard, ...after };
  const scope = planScope(mountState, issuers, basis);
  // These addresses have the deltas of one of both.
  const isThere = !shard && unified_crl_on_existing_paths === (of === ALL);
  const findThere = (cluster: ClusterPaths): readonly string[] =>
    kind.delta || !enable_delta || !isThere
      ? []
      : findFreshest({ ...mountState, cluster }, issuers);
  const freshest = findThere(await readPathsOf(app, mountState, { mount_id, kind }));
  // The one for all clusters is not built anew by each in turn, as each has addresses of its own.
  const places = of === ALL ? findThere(ANY_CLUSTER) : freshest;
  // A complete CRL is built anew when deltas are turned on, too: they have one to begin with.
  const ofComplete = enable_delta && !shard ? ['deltas', ...places] : points;
  const others = complete ? [`${complete.number} ${enable_delta}`] : ofComplete;
  const fingerprint = crlFingerprint(issuers, { scope, expiry, others });
  const made = { scope, fingerprint, freshest, points, complete };
  return { mount_id, issuers, kind, config, state, ...made };
}

/** Where the cluster of a CRL is reached; any node builds those of all. */
async function readPathsOf(
  app: App,
  { cluster }: MountState,
  { mount_id, kind: { of = '' } }: Pick<CrlPlace, 'mount_id' | 'kind'>,
): Promise<ClusterPaths> {
  if (of === ALL || of === app.config.cluster_name) return cluster;
  return readClusterPaths(app, mount_id, of);
}

/** In the place of where a cluster is reached. */
const ANY_CLUSTER = { path: 'https://cluster.invalid', aia_path: 'https://cluster.invalid' };

/** None where templates cannot be filled in: a CRL does not wait for that. */
function findFreshest(mountState: MountState, { signer }: IssuerClass): readonly string[] {
  try {
    return signer ? chooseUrls(mountState, signer.issuer).delta_crl_distribution_points : [];
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}
