import type { App } from '../../app/app.ts';
import { firstCluster, isOfCluster } from '../../core/clusters.ts';
import type { Effect } from '../../store/write.ts';
import { type Certificate, parseCertificate } from '../../x509/certificate.ts';
import { joinHolders, markRevoked } from '../certificates/store.ts';
import { planBlock, planLateBlock } from '../keys/blocked.operations.ts';
import { joinRevocation } from '../mount-state/joins.store.ts';
import { type ClusterRevocation, insertRevocation } from '../mount-state/revocations.store.ts';
import { isCompromise } from './reasons.ts';
import type { RevocationTarget } from './target.operations.ts';

/** Certificates that end this soon are as good as expired; seconds. @see P-114 */
const EXPIRY_MARGIN = 2;

export const isOver = ({ not_after }: { not_after: number }, now_ms: number): boolean =>
  not_after <= now_ms / 1000 + EXPIRY_MARGIN;

/** The entry of a certificate that is stored, and that it is revoked. */
export function planRevocation(
  mount_id: string,
  revocation: {
    serial: string;
    issuer_id: string;
    revoked_at_ms: number;
    reason: number;
    /** Unix seconds. */
    not_after: number;
    /** The one that revokes it. */
    clusters: string;
    /** Left out: the same. */
    issued_by?: string;
  },
): Effect[] {
  const { serial, revoked_at_ms, reason } = revocation;
  return [
    ...insertRevocation(mount_id, revocation),
    markRevoked({ mount_id, serial, revoked_at_ms, revocation_reason: reason }),
  ];
}

/** Who revokes, when, and why. */
export interface Revoking {
  cluster: string;
  now_ms: number;
  reason: number;
}

/** The first revocation of a certificate: its entry, that its cluster has it from now on, and what becomes of its key. */
export function planTarget(
  mount_id: string,
  target: RevocationTarget,
  revoking: Revoking,
): Effect[] {
  const { now_ms, reason } = revoking;
  return [
    ...(isCompromise(reason) ? planBlock(mount_id, certificateOf(target), now_ms) : []),
    ...planEntryOf(mount_id, target, revoking),
  ];
}

/** {@link planTarget} but for its key. */
export function planEntryOf(
  mount_id: string,
  target: RevocationTarget,
  { cluster, now_ms, reason }: Revoking,
): Effect[] {
  const { serial, issuer_id, not_after, stored } = target;
  return [
    ...planHolder(mount_id, target, cluster),
    ...planRevocation(mount_id, {
      serial,
      issuer_id,
      revoked_at_ms: now_ms,
      reason,
      not_after,
      clusters: cluster,
      issued_by: stored ? firstCluster(stored.clusters) : cluster,
    }),
  ];
}

/**
 * Revokes once more what is revoked. A revocation keeps its reason and its time; that the key is in other hands may be known
 * later, and another cluster than the first puts it on its own CRL.
 *
 * @see P-478
 */
export async function planFollowing(
  app: App,
  mount_id: string,
  { target, known }: { target: RevocationTarget; known: ClusterRevocation },
  { cluster, reason }: Pick<Revoking, 'cluster' | 'reason'>,
): Promise<Effect[]> {
  const isNew = !isOfCluster(known.clusters, cluster);
  return [
    ...(isCompromise(reason) ? await planLateBlock(app, mount_id, certificateOf(target)) : []),
    ...(isNew ? planHolder(mount_id, target, cluster) : []),
    ...(isNew ? joinRevocation(mount_id, known, cluster) : []),
  ];
}

const certificateOf = ({
  der,
  certificate = parseCertificate(der),
}: RevocationTarget): Certificate => certificate;

function planHolder(mount_id: string, { stored, serial }: RevocationTarget, cluster: string) {
  if (!stored || isOfCluster(stored.clusters, cluster)) return [];
  return [joinHolders(mount_id, { serial, clusters: stored.clusters }, cluster)];
}
