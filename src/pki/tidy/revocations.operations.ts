import { addCluster, EVERY_CLUSTER } from '../../core/clusters.ts';
import { Failure } from '../../core/failure.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { type Certificate, parseCertificate } from '../../x509/certificate.ts';
import { planClass } from '../crl/issuer-class.ts';
import { COMPLETE, crlName } from '../crl/kind.ts';
import { rotateCrls } from '../crl/rotation.operations.ts';
import { scheduleCrl } from '../crl/scheduling.operations.ts';
import { readCrlConfig } from '../crl/settings.operations.ts';
import { findCrl, listCompleteCrls, type StoredCrl } from '../crl/store.ts';
import type { Issuer } from '../mount-state/issuer.ts';
import { readMountState } from '../mount-state/operations.ts';
import { readRevocationState } from '../mount-state/revocations.store.ts';
import { findSigner } from '../revocation/target.operations.ts';
import {
  assignIssuer,
  deleteEndedCertificates,
  deleteRevocations,
  type End,
  endedRevocations,
  FIRST_END,
  partsWithNames,
  renewCrls,
  unassignedRevocations,
} from './expired.store.ts';
import { cutoffOf } from './fields.ts';
import type { TidyOperation, TidyWork } from './work.ts';

/** Revocations that may go: of certificates that ended before a moment, up to a revision. */
interface Bounds {
  before: number;
  revision: number;
}

const cutoff = ({ now, request }: TidyWork): number => cutoffOf(now, request.revoked_safety_buffer);

/** A revocation, as far as it is asked whose it is. */
interface OfClusters {
  clusters: string;
  issued_by: string;
}

/** Whether another cluster than that which issued a certificate revoked it: also, or alone. What became everybody's is no other's. */
const isAcross = ({ clusters, issued_by }: OfClusters): boolean =>
  clusters !== issued_by && clusters !== addCluster(issued_by, EVERY_CLUSTER);

/** Which revocations a work tidies. */
type Choice = (row: OfClusters) => boolean;

async function* endedPages(
  work: TidyWork,
  bounds: Bounds,
  isChosen: Choice,
): AsyncGenerator<End[]> {
  const { app, mount_id, limit } = work;
  const breath = new Breath();
  for (let from = FIRST_END; ; ) {
    const page = await endedRevocations.all(app.db, {
      mount_id,
      before: bounds.before,
      not_after: from.not_after,
      serial: from.serial,
      limit,
    });
    const last = page.at(-1);
    if (!last) return;
    // Not by the query: it would step over any number of them at once.
    const those = page.filter(
      // Also on the CRL of whoever revoked it last.
      (row) => Math.max(row.revision, row.joined_revision ?? 0) <= bounds.revision && isChosen(row),
    );
    if (those.length > 0) yield those;
    from = last;
    await breath.take();
  }
}

/** Revocations of certificates that have ended, and these with them, once a CRL has shown them since. */
const tidyChosen = (
  of: Pick<TidyOperation, 'flag'> & {
    count: 'revoked_cert_deleted_count' | 'cross_revoked_cert_deleted_count';
  },
  isChosen: Choice,
): TidyOperation => ({
  flag: of.flag,
  async *estimate(work) {
    const all = { before: cutoff(work), revision: ALL };
    for await (const page of endedPages(work, all, isChosen)) yield page.length;
  },
  async *pages(work) {
    const { app, mount_id } = work;
    if (!(await isAnyEnded(work, isChosen))) return;
    const past = await findPast(work);
    for await (const page of endedPages(work, past, isChosen)) {
      const all = page.map(({ serial }) => serial);
      for await (const part of partsWithNames(app.db, mount_id, all, past.before)) {
        const { serials, stored } = part;
        yield {
          effects: [
            ...deleteRevocations(mount_id, serials, past),
            ...(stored.length > 0 ? deleteEndedCertificates(mount_id, stored, past.before) : []),
          ],
          counts: { [of.count]: serials.length },
          rows: serials.length,
        };
      }
    }
  },
});

/** Of what the clusters that issued certificates revoked. @see P-356 */
export const tidyRevocations = tidyChosen(
  { flag: 'tidy_revoked_certs', count: 'revoked_cert_deleted_count' },
  (row) => !isAcross(row),
);

/** Of what others revoked. @see P-492 */
export const tidyAcross = tidyChosen(
  { flag: 'tidy_cross_cluster_revoked_certs', count: 'cross_revoked_cert_deleted_count' },
  isAcross,
);

const ALL = Number.MAX_SAFE_INTEGER;

async function isAnyEnded(work: TidyWork, isChosen: Choice): Promise<boolean> {
  const all = { before: cutoff(work), revision: ALL };
  for await (const _ of endedPages(work, all, isChosen)) return true;
  return false;
}

/**
 * Which revocations are on no CRL any more: an entry stays until one that was issued after the certificate's end has
 * shown it (RFC 5280 §3.3), and is off the next one. Unless CRLs are built by their age alone, newer ones are built for it.
 */
async function findPast(work: TidyWork): Promise<Bounds> {
  const { app, mount_id, caller, request } = work;
  const wanted = { before: cutoff(work), revision: 0 };
  const { auto_rebuild, disable } = await readCrlConfig(app, mount_id);
  ({ revision: wanted.revision } = await readRevocationState(app.db, mount_id));
  // CRLs are empty then, and what is on none can be missed on none.
  if (disable || (request.dry_run && !auto_rebuild)) return wanted;
  let past = await readPast(work, wanted);
  // The first shows them, the second does without.
  for (let built = 0; built < 2 && !auto_rebuild && isLess(past, wanted); built++) {
    // A CRL that cannot be built (it would be too long) leaves the one before: less may go then.
    await rotateCrls(app, caller).catch((error: unknown) => {
      if (!(error instanceof Failure)) throw error;
      app.log.warn({ err: error }, 'a CRL was not built, and tidying keeps what it has not shown');
    });
    past = await readPast(work, wanted);
  }
  return past;
}

const isLess = (past: Bounds, wanted: Bounds): boolean =>
  past.before < wanted.before || past.revision < wanted.revision;

/** What is off all CRLs of the mount, and never more than wanted. */
async function readPast({ app, mount_id, now }: TidyWork, wanted: Bounds): Promise<Bounds> {
  const mountState = await readMountState(app, mount_id);
  let { before, revision } = wanted;
  const breath = new Breath();
  const seen = new Set<Issuer>();
  for (const issuer of mountState.issuers.values()) {
    if (seen.has(issuer)) continue;
    await breath.take();
    const issuers = planClass(mountState, issuer);
    for (const member of issuers.members) seen.add(member);
    const own = crlName(issuers.id, { ...COMPLETE, of: app.config.cluster_name });
    const stored: StoredCrl | undefined = await findCrl(app.db, mount_id, own);
    for (const other of await listCompleteCrls(app.db, mount_id, issuers.id)) {
      // Of other clusters and of all of them: while it is in force, what it has not shown stays.
      if (other.class === own || other.next_update <= now) continue;
      before = Math.min(before, other.ended_before);
      revision = Math.min(revision, other.ended_revision);
    }
    if (!issuers.signer) {
      // Nobody can sign another one: while this one is in force, all that it is made of stays.
      if (stored && stored.next_update > now) return { before: 0, revision: 0 };
      continue;
    }
    before = Math.min(before, stored?.ended_before ?? 0);
    revision = Math.min(revision, stored?.ended_revision ?? 0);
  }
  return { before, revision };
}

/** Has CRLs built without what was taken off them; with `auto_rebuild` whoever reads one does. */
async function renewAll({ app, mount_id, request }: TidyWork): Promise<void> {
  const { auto_rebuild } = await readCrlConfig(app, mount_id);
  if (auto_rebuild || request.dry_run) return;
  const { issuers } = await readMountState(app, mount_id);
  for (const id of issuers.keys()) scheduleCrl(app, mount_id, id);
}

/** Revocations whose issuer was not known when they came: it may have been imported since. @see P-360 */
export const tidyAssociations: TidyOperation = {
  flag: 'tidy_revoked_cert_issuer_associations',
  async *pages(work) {
    const { app, mount_id, limit } = work;
    const mountState = await readMountState(app, mount_id);
    const breath = new Breath();
    for (let after = ''; ; ) {
      const page = await unassignedRevocations.some(app.db, { mount_id, after, limit }, 'der');
      const last = page.rows.at(-1);
      if (!last) return;
      const found: { serial: string; issuer: Issuer }[] = [];
      for (const { serial, der } of page.rows) {
        const certificate = der === null ? undefined : readCertificate(der);
        const issuer = certificate && (await findSigner(mountState, certificate));
        if (issuer) found.push({ serial, issuer });
        await breath.take();
      }
      const effects = found.map(({ serial, issuer }) => assignIssuer(mount_id, serial, issuer.id));
      yield {
        effects: effects.length > 0 ? [...effects, renewCrls(mount_id)] : [],
        counts: { missing_issuer_cert_count: found.length },
        rows: found.length,
      };
      if (found.length > 0) await renewAll(work);
      after = last.serial;
    }
  },
};

function readCertificate(der: Uint8Array): Certificate | undefined {
  try {
    return parseCertificate(der);
  } catch {
    return undefined;
  }
}
