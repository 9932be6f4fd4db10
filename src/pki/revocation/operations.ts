import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import { signInTurn } from '../../access/concurrency/signatures.operations.ts';
import { commitPlanned } from '../../access/standing/attempts.operations.ts';
import { callerTold, type ToldCaller, toldOf } from '../../access/system-caller.ts';
import type { App, LeaseKind } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { inOnePlace, oneForAll } from '../../app/one-for-all.ts';
import { firstCluster, isOfCluster } from '../../core/clusters.ts';
import { invalid, isConflict } from '../../core/failure.ts';
import type { Effect } from '../../store/write.ts';
import { isCheap } from '../../x509/algorithms.ts';
import { parseCertificate } from '../../x509/certificate.ts';
import { describePublicKey } from '../../x509/keys.ts';
import { parsePrivateKey, provePair } from '../../x509/private-keys.ts';
import { findCertificate, insertCertificate } from '../certificates/store.ts';
import { findClassOf, numberWarnings, warnOfUnsigned } from '../crl/issuer-class.ts';
import { kindToBuild } from '../crl/kind.ts';
import { warnOfLength } from '../crl/length.operations.ts';
import { scheduleCrl } from '../crl/scheduling.operations.ts';
import { readCrlConfig } from '../crl/settings.operations.ts';
import { joinRevocation } from '../mount-state/joins.store.ts';
import { readMountState } from '../mount-state/operations.ts';
import { findRevocation } from '../mount-state/revocations.store.ts';
import { isOver, planFollowing, planRevocation, planTarget } from './entries.operations.ts';
import { parseReason } from './reasons.ts';
import { refuseElsewhere, requestRevocation } from './requests.operations.ts';
import {
  type RevocationTarget,
  type RevokeInput,
  requireOneOf,
  requireTarget,
} from './target.operations.ts';

/** Revokes by serial number or by certificate. */
export async function revokeCertificate(
  app: App,
  caller: Caller,
  input: RevokeInput & { reason: string },
) {
  requireOneOf(input);
  const reason = parseReason(input.reason);
  const target = await requireTarget(app, caller, input);
  if (!isElsewhere(app, input, target)) return revoke(app, caller, target, reason);
  const { serial } = target;
  const written = input.serial_number ?? '';
  const asked = await requestRevocation(app, caller, { serial, reason, written });
  if (asked === 'expired') return refusedAsExpired(serial);
  if (asked === 'pending') return { data: { state: 'pending' as const }, warnings: [PENDING] };
  return answer(app, caller.mount.id, target, asked.revoked_at_ms);
}

/** Revokes on proof of possession: the caller has the certificate's private key. @see P-116 */
export async function revokeWithKey(
  app: App,
  caller: Caller,
  input: RevokeInput & { private_key: string; reason: string },
) {
  requireOneOf(input);
  const reason = parseReason(input.reason);
  const key = parseProof(input.private_key);
  const target = await requireTarget(app, caller, input);
  if (isElsewhere(app, input, target)) throw refuseElsewhere(input.serial_number ?? '');
  // By a signature: somebody else's public part set beside any private one proves nothing.
  const { subjectPublicKeyInfo } = target.certificate ?? parseCertificate(target.der);
  if (!(await prove(app, caller, { key, subjectPublicKeyInfo }))) {
    throw invalid("provided private key does not match certificate's public key");
  }
  return revoke(app, caller, target, reason);
}

interface Pair {
  key: KeyObject;
  subjectPublicKeyInfo: Uint8Array;
}

/** With a key of the caller's, which may be long, or made to take long: such ones wait in one line, whoever answers. */
function prove(app: App, caller: Caller, pair: Pair): Promise<boolean> {
  const { key, subjectPublicKeyInfo } = pair;
  const kind = describePublicKey(subjectPublicKeyInfo);
  if (oneForAll(app).ask && !isCheap(kind)) {
    return proveInOnePlace(app, { caller: toldOf(caller), ...pair });
  }
  return signInTurn(app, caller, kind, () => provePair(key, subjectPublicKeyInfo));
}

const proveInOnePlace = inOnePlace(
  'pki/prove-pair',
  (app, { caller, ...pair }: Pair & { caller: ToldCaller }) =>
    prove(app, callerTold(app.newId(), 'revoke-with-key', caller), pair),
);

const PENDING =
  'Another cluster issued the certificate and is asked to revoke it: that is pending until a node of that cluster has done so. Requests that none has carried out can be tidied up.';

/** Whether a serial number is that of a certificate that another cluster has, and not this one. A presented one is here. */
const isElsewhere = (app: App, input: RevokeInput, { stored }: RevocationTarget): boolean =>
  input.certificate === undefined &&
  stored !== undefined &&
  !isOfCluster(stored.clusters, app.config.cluster_name);

function parseProof(pem: string): KeyObject {
  if (pem === '') {
    throw invalid('the private_key parameter must be provided: a PEM block');
  }
  if (pem.length < 64) {
    throw invalid('private_key is too short to be a PEM private key');
  }
  return parsePrivateKey(pem);
}

async function revoke(app: App, caller: Caller, target: RevocationTarget, reason: number) {
  const mount_id = caller.mount.id;
  const { serial, stored } = target;
  caller.record.outcome.serial_number = serial;
  const now_ms = app.now();
  const hasEnded = isOver(target, now_ms);
  // A stored certificate and its revocation change together, so the row read already mostly tells; if
  // somebody was quicker, the write set is refused below.
  if (hasEnded || stored?.revoked_at_ms !== null) {
    const known = await findRevocation(app.db, mount_id, serial);
    if (known) {
      await followRevocation(app, caller, target, reason);
      return answer(app, mount_id, target, known.revoked_at_ms);
    }
  }
  if (hasEnded && !(await readCrlConfig(app, mount_id)).allow_expired_cert_revocation) {
    return refusedAsExpired(serial);
  }
  const revoking = { cluster: app.config.cluster_name, now_ms, reason };
  const effects: Effect[] = [
    ...(stored ? [] : insertCertificate(mount_id, storedForm(target, app.config.cluster_name), [])),
    ...planTarget(mount_id, target, revoking),
  ];
  try {
    await app.commit(caller, effects);
  } catch (error) {
    // Whoever asked at the same moment was first; the time that stands is theirs.
    const first = await findRevocation(app.db, mount_id, serial);
    if (isConflict(error) && first) {
      await followRevocation(app, caller, target, reason);
      return answer(app, mount_id, target, first.revoked_at_ms);
    }
    throw error;
  }
  const config = await readCrlConfig(app, mount_id);
  // The CRL is built in the background; whoever reads it meanwhile waits for it.
  if (!config.auto_rebuild && target.issuer_id !== '') {
    scheduleCrl(app, mount_id, target.issuer_id, kindToBuild(config, serial));
  }
  return answer(app, mount_id, target, now_ms);
}

/** Revokes once more what is revoked. Others may do so at the same moment, of this cluster or of further ones. @see P-478 */
function followRevocation(
  app: App,
  caller: Caller,
  target: RevocationTarget,
  reason: number,
): Promise<void> {
  const { serial } = target;
  const mount_id = caller.mount.id;
  return commitPlanned<void>(app, caller, async () => {
    const known = await findRevocation(app.db, mount_id, serial);
    // It was tidied up meanwhile.
    if (!known) return { effects: [], result: undefined };
    // Read after the revocation, with which it changes: what the one has of another moment, the other refuses.
    const stored = await findCertificate(app.db, mount_id, serial);
    const revoking = { cluster: app.config.cluster_name, reason };
    const found = { target: { ...target, stored }, known };
    return { effects: await planFollowing(app, mount_id, found, revoking), result: undefined };
  });
}

const leaseData = z.object({ serial: z.string() });

/**
 * Leases of roles with `generate_lease`: the certificate is revoked when its lease ends before
 * it does, by the cluster that issued it: also where another one has revoked it. One that is gone, run out, revoked by that one
 * or a CA's own stays as it is.
 */
export const certificateLease: LeaseKind = {
  async planEnd(app, lease) {
    const { mount_id } = lease;
    const { serial } = leaseData.parse(lease.data);
    const stored = await findCertificate(app.db, mount_id, serial);
    const revoked_at_ms = app.now();
    if (!stored || isOver(stored, revoked_at_ms)) return { effects: [] };
    // Its own, on whichever one its lease ends.
    const owner = firstCluster(stored.clusters);
    const known = await findRevocation(app.db, mount_id, serial);
    if (known && isOfCluster(known.clusters, owner)) return { effects: [] };
    const mountState = await readMountState(app, mount_id);
    const isIssuer = [...mountState.issuers.values()].some(
      ({ certificate }) => certificate.serial === serial,
    );
    if (isIssuer) return { effects: [] };
    const { issuer_id, not_after } = stored;
    const config = await readCrlConfig(app, mount_id);
    const entry = { serial, issuer_id, revoked_at_ms, reason: 0, not_after, clusters: owner };
    return {
      effects: known ? joinRevocation(mount_id, known, owner) : planRevocation(mount_id, entry),
      outcome: { serial_number: serial, issuer_id },
      after: () => {
        if (config.auto_rebuild || issuer_id === '') return;
        scheduleCrl(app, mount_id, issuer_id, kindToBuild(config, serial));
      },
    };
  },
};

const refusedAsExpired = (serial: string) => ({
  warnings: [`certificate with serial ${serial} already expired; refusing to add to CRL`],
});

function storedForm(
  { der, issuer_id, certificate = parseCertificate(der) }: RevocationTarget,
  clusters: string,
) {
  return {
    serial: certificate.serial,
    issuer_id,
    role: '',
    subject_cn: certificate.subjectName.fields.common_name ?? '',
    not_before: certificate.notBefore,
    not_after: certificate.notAfter,
    der: certificate.raw,
    clusters,
  };
}

/** Warns where no CRL can be signed, or be as long, that would show the revocation. */
async function answer(
  app: App,
  mount_id: string,
  { issuer_id }: RevocationTarget,
  revoked_at_ms: number,
) {
  const mountState = await readMountState(app, mount_id);
  const { disable } = await readCrlConfig(app, mount_id);
  const issuers = disable ? undefined : findClassOf(mountState, issuer_id);
  const unsigned = issuers ? numberWarnings(warnOfUnsigned(mountState, issuers)) : [];
  return {
    data: {
      revocation_time: Math.floor(revoked_at_ms / 1000),
      revocation_time_rfc3339: new Date(revoked_at_ms).toISOString(),
      state: 'revoked' as const,
    },
    warnings: [...unsigned, ...(await warnOfLength(app, mount_id, issuer_id))],
  };
}
