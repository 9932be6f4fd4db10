import { Buffer } from 'node:buffer';
import { refuseDenied, refuseDeniedNow } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { DataResult } from '../../app/output.ts';
import { EVERY_CLUSTER } from '../../core/clusters.ts';
import type { Effect } from '../../store/write.ts';
import { findCertificate, insertCertificate } from '../certificates/store.ts';
import {
  classIdOf,
  findClassOf,
  numberWarnings,
  planClass,
  warnOfUnsigned,
} from '../crl/issuer-class.ts';
import { scheduleCrl } from '../crl/scheduling.operations.ts';
import { planBlock, planLateBlock } from '../keys/blocked.operations.ts';
import { isRoot } from '../mount-state/chain.ts';
import {
  describeIssuer,
  type Issuer,
  recordOf,
  revokedAt,
  tbsHashOf,
} from '../mount-state/issuer.ts';
import { saveIssuer } from '../mount-state/issuers.store.ts';
import { shareRevocation } from '../mount-state/joins.store.ts';
import { changeMountState, requireIssuer } from '../mount-state/operations.ts';
import { ownPaths } from '../mount-state/own-paths.ts';
import { findRevocation, insertRevocation } from '../mount-state/revocations.store.ts';
import { rememberRevoked } from '../mount-state/revoked-issuers.store.ts';
import { type MountState, resolveIssuer } from '../mount-state/state.ts';
import { planEntryOf, planRevocation } from '../revocation/entries.operations.ts';
import { isCompromise, parseReason } from '../revocation/reasons.ts';
import { targetOf } from '../revocation/target.operations.ts';

interface Revoked {
  id: string;
  /** Who signed it, if that is an issuer of the mount and this call revoked it. */
  signed_by: string;
  warnings: string[];
}

/**
 * Revokes an issuer for good: it issues no more, certificates that are being made are refused, and the CRLs of those
 * of the mount that signed it have it. What it signed goes on being listed and answered for. A revocation keeps its
 * reason; that others may have the key may be known later.
 *
 * @see P-243, P-333
 */
export async function revokeIssuer(
  app: App,
  caller: Caller,
  { issuer_ref: ref, reason: written = '' }: { issuer_ref: string; reason?: string },
): Promise<DataResult<ReturnType<typeof describeIssuer>>> {
  const reason = parseReason(written);
  await refuseDenied(caller, ownPaths(caller, 'issuer', { ref }));
  const mount_id = caller.mount.id;
  const { id, signed_by, warnings } = await changeMountState<Revoked>(
    app,
    caller,
    async (mountState) => {
      const issuer = resolveIssuer(mountState, ref);
      await refuseDeniedNow(caller, ownPaths(caller, 'issuer', issuer));
      if (issuer.revoked_at_ms !== undefined) {
        const late = isCompromise(reason)
          ? await planLateBlock(app, mount_id, issuer.certificate)
          : [];
        return {
          effects: late,
          spares_issuing: true,
          result: { id: issuer.id, signed_by: '', warnings: [] },
        };
      }
      caller.record.outcome.serial_number = issuer.certificate.serial;
      const now_ms = app.now();
      return {
        effects: [
          saveIssuer(mount_id, recordOf(revokedAt(issuer, { revoked_at_ms: now_ms, reason }))),
          ...(await planEntry(app, mount_id, issuer, { revoked_at_ms: now_ms, reason })),
          ...(isCompromise(reason) ? planBlock(mount_id, issuer.certificate, now_ms) : []),
        ],
        spares_issuing: true,
        result: {
          id: issuer.id,
          signed_by: issuer.signed_by,
          warnings: warnOfRevoked(mountState, issuer),
        },
      };
    },
  );
  if (signed_by !== '') scheduleCrl(app, mount_id, signed_by);
  return { data: describeIssuer(await requireIssuer(app, caller, id)), warnings };
}

/** The entry of an issuer whose certificate is among those of the mount. */
async function planEntry(
  app: App,
  mount_id: string,
  { certificate: { serial, raw } }: Issuer,
  { revoked_at_ms, reason }: { revoked_at_ms: number; reason: number },
): Promise<Effect[]> {
  const stored = await findCertificate(app.db, mount_id, serial);
  if (!stored || Buffer.compare(stored.der, raw) !== 0) return [];
  if (await findRevocation(app.db, mount_id, serial)) return [];
  const cluster = app.config.cluster_name;
  return planEntryOf(mount_id, targetOf(stored), { cluster, now_ms: revoked_at_ms, reason });
}

/** @see P-244 */
function warnOfRevoked(mountState: MountState, issuer: Issuer): string[] {
  const warnings: string[] = [];
  const signer = mountState.issuers.get(issuer.signed_by);
  const isOthers = signer !== undefined && classIdOf(signer) !== classIdOf(issuer);
  if (isRoot(issuer.certificate)) {
    warnings.push(
      "This issuer is a self-signed (potentially root) certificate. This means it may not be considered revoked if there is not an external, cross-signed variant of this certificate. This issuer's serial number will not appear on its own CRL.",
    );
  }
  if (!isOthers) {
    warnings.push(
      "This issuer lacks another parent issuer within the mount. This means it will not appear on any other CRLs and may not be considered revoked by clients. Consider adding this issuer to its issuer's CRL as well if it is not self-signed.",
    );
  }
  if (issuer.id === mountState.defaults.default_issuer) {
    warnings.push(
      'This issuer is currently configured as the default issuer for this mount; operations such as certificate issuance may not work until a new default issuer is selected.',
    );
  }
  if (isOthers) {
    warnings.push(...numberWarnings(warnOfUnsigned(mountState, planClass(mountState, signer))));
  }
  return warnings;
}

/** What makes a revoked issuer that is removed be known as one when it is imported anew. @see P-248, P-334 */
export function rememberRevocation(
  mount_id: string,
  { certificate, revoked_at_ms, revocation_reason: reason }: Issuer,
): Effect[] {
  if (revoked_at_ms === undefined) return [];
  const tbs_sha256 = tbsHashOf(certificate);
  return [rememberRevoked({ mount_id, tbs_sha256, revoked_at_ms, reason })];
}

/**
 * What keeps a revoked issuer that is removed on the CRLs of who signed it: while it is there, it is on those of all clusters
 * by itself. Its certificate is stored with that, as that of every other revocation is.
 *
 * @see P-246, P-548
 */
export async function planLastingEntry(
  app: App,
  mount_id: string,
  mountState: MountState,
  { certificate, signed_by: issuer_id, revoked_at_ms, revocation_reason: reason }: Issuer,
): Promise<Effect[]> {
  if (revoked_at_ms === undefined || issuer_id === '') return [];
  const { serial, notBefore: not_before, notAfter: not_after, raw: der } = certificate;
  const known = await findRevocation(app.db, mount_id, serial);
  if (known) {
    const [revoker, signer] = [known.issuer_id, issuer_id].map((id) => findClassOf(mountState, id));
    // Of another certificate it has nothing to do with this one.
    return revoker?.id === signer?.id ? shareRevocation(mount_id, known) : [];
  }
  const clusters = EVERY_CLUSTER;
  const entry = { serial, issuer_id, revoked_at_ms, reason, not_after, clusters };
  // Of another certificate, which is not revoked by that.
  if (await findCertificate(app.db, mount_id, serial)) return insertRevocation(mount_id, entry);
  const subject_cn = certificate.subjectName.fields.common_name ?? '';
  const row = { serial, issuer_id, role: '', subject_cn, not_before, not_after, der, clusters };
  return [...insertCertificate(mount_id, row, []), ...planRevocation(mount_id, entry)];
}
