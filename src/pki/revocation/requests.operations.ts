import { commitPlanned } from '../../access/standing/attempts.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { firstCluster, isOfCluster } from '../../core/clusters.ts';
import { type Failure, invalid } from '../../core/failure.ts';
import type { Effect } from '../../store/write.ts';
import { findCertificate, type StoredCertificate } from '../certificates/store.ts';
import { readCrlConfig } from '../crl/settings.operations.ts';
import { readMountState } from '../mount-state/operations.ts';
import { findRevocation } from '../mount-state/revocations.store.ts';
import { isOver, planFollowing, planTarget, type Revoking } from './entries.operations.ts';
import { isCompromise } from './reasons.ts';
import {
  endRequest,
  findRequest,
  insertRequest,
  type RevocationRequest,
  raiseReason,
} from './requests.store.ts';
import { notFound, targetOf } from './target.operations.ts';

/** What becomes of a request at once. */
type Asked = 'pending' | 'expired' | { revoked_at_ms: number };

/**
 * Asks the cluster that issued a certificate to revoke it. What is revoked there by now, or here, is told as that.
 *
 * @param serial of a certificate that another cluster has
 * @throws Failure `invalid` where clusters do not ask each other
 * @see P-486
 */
export async function requestRevocation(
  app: App,
  caller: Caller,
  { serial, reason, written }: { serial: string; reason: number; written: string },
): Promise<Asked> {
  const mount_id = caller.mount.id;
  const { cluster_name } = app.config;
  const { cross_cluster_revocation, allow_expired_cert_revocation } = await readCrlConfig(
    app,
    mount_id,
  );
  if (!cross_cluster_revocation) throw notFound(written);
  caller.record.outcome.serial_number = serial;
  return commitPlanned<Asked>(app, caller, async () => {
    const stored = await findCertificate(app.db, mount_id, serial);
    if (!stored) throw notFound(written);
    const now_ms = app.now();
    const cluster = firstCluster(stored.clusters);
    const known = await findRevocation(app.db, mount_id, serial);
    const isDone = [cluster, cluster_name].some((one) => isOfCluster(known?.clusters ?? '', one));
    if (known && isDone) {
      const revoking = { cluster: firstCluster(known.clusters), reason };
      const found = { target: targetOf(stored), known };
      const effects = await planFollowing(app, mount_id, found, revoking);
      return { effects, result: { revoked_at_ms: known.revoked_at_ms } };
    }
    if (isOver(stored, now_ms) && !allow_expired_cert_revocation) {
      return { effects: [], result: 'expired' };
    }
    const request = {
      mount_id,
      serial,
      cluster,
      requested_by: cluster_name,
      reason,
      requested_at_ms: now_ms,
    };
    return {
      effects: await planAsking(app, request, stored),
      result: 'pending',
      outcome: { state: 'pending' },
    };
  });
}

/** What is asked for already is asked for once; that the key is in other hands is said all the same. */
async function planAsking(
  app: App,
  request: RevocationRequest,
  { clusters }: StoredCertificate,
): Promise<Effect[]> {
  const found = await findRequest(app.db, request);
  if (!found) return insertRequest(request, clusters);
  const { mount_id, serial, reason } = request;
  if (!isCompromise(reason) || isCompromise(found.reason)) return [];
  return [raiseReason({ mount_id, serial, reason })];
}

/** What a cluster does about a request of another one. */
interface CarriedOut {
  effects: Effect[];
  outcome: { serial_number: string; state: 'revoked' | 'dropped'; why?: string };
  /** Whose CRLs show something else by that; empty: nobody's. */
  issuer_id: string;
}

/**
 * Works out what is done about a request: its certificate is revoked by the cluster that issued it, or cannot be any more.
 *
 * @see P-489
 */
export async function planCarryingOut(app: App, request: RevocationRequest): Promise<CarriedOut> {
  const { mount_id, serial, reason, cluster } = request;
  const end = endRequest({ mount_id, serial, reason });
  const dropped = (why: string): CarriedOut => ({
    effects: [end],
    outcome: { serial_number: serial, state: 'dropped', why },
    issuer_id: '',
  });
  const stored = await findCertificate(app.db, mount_id, serial);
  if (!stored) return dropped('the certificate is not stored any more');
  const { issuers } = await readMountState(app, mount_id);
  for (const { certificate } of issuers.values()) {
    if (certificate.serial === serial) return dropped('it is the certificate of an issuer by now');
  }
  const now_ms = app.now();
  const known = await findRevocation(app.db, mount_id, serial);
  const { allow_expired_cert_revocation } = await readCrlConfig(app, mount_id);
  if (!known && isOver(stored, now_ms) && !allow_expired_cert_revocation) {
    return dropped('the certificate has expired');
  }
  const revoking: Revoking = { cluster, now_ms, reason };
  const target = targetOf(stored);
  const effects = known
    ? await planFollowing(app, mount_id, { target, known }, revoking)
    : planTarget(mount_id, target, revoking);
  return {
    effects: [end, ...effects],
    outcome: { serial_number: serial, state: 'revoked' },
    issuer_id: stored.issuer_id,
  };
}

/** @throws Failure `invalid`: whoever has a key asks where the certificate was issued. @see P-488 */
export function refuseElsewhere(written: string): Failure {
  return invalid(
    `certificate with serial ${written} not found, and another cluster cannot be asked to revoke by a private key`,
  );
}
