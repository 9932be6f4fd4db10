import { type Db, prepared, preparedWrite } from '../../store/database.ts';
import { keyPages } from '../../store/key-page.ts';
import type { Write } from '../../store/write.ts';
import { countOneMore } from './counts.store.ts';

/** That a certificate is revoked, as the store keeps it. */
export interface Revocation {
  /** Lower-case colon hex. */
  serial: string;
  /** Empty when no issuer of the mount is known to have signed it. */
  issuer_id: string;
  revoked_at_ms: number;
  /** CRLReason of RFC 5280 §5.3.1; 0: unspecified. */
  reason: number;
  /** Of the certificate, Unix seconds; where it is not known, its entry stays on CRLs. */
  not_after?: number;
}

/** What is stored of a revocation, and which clusters made it; see `core/clusters.ts`. */
export type ClusterRevocation = Revocation & { clusters: string };

/** The last second that a certificate can name (RFC 5280 §4.1.2.5). */
const NEVER = 253_402_300_799;

const COLUMNS = ['serial', 'issuer_id', 'revoked_at_ms', 'reason', 'clusters'] as const;

const bySerial = prepared((sql, p: { mount_id: string; serial: string }) =>
  sql
    .selectFrom('pki_revocation')
    .select(COLUMNS)
    .where('mount_id', '=', p.mount_id)
    .where('serial', '=', p.serial),
);

export function findRevocation(
  db: Db,
  mount_id: string,
  serial: string,
): Promise<ClusterRevocation | undefined> {
  return bySerial.first(db, { mount_id, serial });
}

/** Those of some serial numbers that are revoked. @param serials a few hundred at most */
export function listRevocationsOf(
  db: Db,
  mount_id: string,
  serials: readonly string[],
): Promise<Revocation[]> {
  return db
    .selectFrom('pki_revocation')
    .select(COLUMNS)
    .where('mount_id', '=', mount_id)
    .where('serial', 'in', serials)
    .execute();
}

/** Revoked serial numbers in order of their text, a page of them, with the clusters that revoked each. */
export const listRevokedWithClusters = prepared(
  (sql, p: { mount_id: string; after: string; limit: number }) =>
    sql
      .selectFrom('pki_revocation')
      .select(['serial', 'clusters'])
      .where('mount_id', '=', p.mount_id)
      .where('serial', '>', p.after)
      .orderBy('serial')
      .limit(p.limit),
);

/** Serial numbers of a mount's revocations in order of their text, a page of them. */
export const listRevokedSerials = keyPages('pki_revocation', 'serial', ['mount_id']);

const insertRow = preparedWrite(
  (
    sql,
    p: Required<ClusterRevocation> & { mount_id: string; issued_by: string } & Record<
        string,
        string | number
      >,
  ) =>
    sql.insertInto('pki_revocation').values({
      mount_id: p.mount_id,
      serial: p.serial,
      issuer_id: p.issuer_id,
      revoked_at_ms: p.revoked_at_ms,
      reason: p.reason,
      not_after: p.not_after,
      clusters: p.clusters,
      issued_by: p.issued_by,
      revision: sql
        .selectFrom('pki_revision')
        .select('pki_revision.revision')
        .where('pki_revision.mount_id', '=', p.mount_id),
    }),
  { rows: 1, conflict: 'the certificate is revoked already' },
);

const NO_REVOCATIONS: RevocationState = {
  revision: 0,
  epoch: 0,
  lists_modified_at_ms: 0,
  deltas_modified_at_ms: 0,
};

/** One more revocation of a mount is about to be. */
export const grow = preparedWrite(
  (sql, p: { mount_id: string }) =>
    sql
      .insertInto('pki_revision')
      .values({ ...NO_REVOCATIONS, mount_id: p.mount_id, revision: 1 })
      .onConflict((clash) =>
        clash
          .column('mount_id')
          .doUpdateSet((row) => ({ revision: row('pki_revision.revision', '+', 1) })),
      ),
  { rows: 1 },
);

/** The count of a mount's revocations. */
export const REVOCATIONS = 'revocations';

/**
 * A new revocation; the second of one serial number is a conflict, so the first one's time stays. Its certificate, if it
 * is to be stored, is in the write set before it: the row says when that ends.
 *
 * The revision grows first: the row takes its number, and whoever reads a revision reads every
 * row up to it, because the counter's row is held until the write set is durable.
 */
export function insertRevocation(
  mount_id: string,
  revocation: Revocation & { clusters?: string; issued_by?: string },
): Write[] {
  // Unless said otherwise it is revoked where it was issued.
  const { clusters = '', issued_by = clusters } = revocation;
  return [
    grow({ mount_id }),
    insertRow({ mount_id, not_after: NEVER, ...revocation, clusters, issued_by }),
    countOneMore({ mount_id, name: REVOCATIONS }),
  ];
}

const touch = preparedWrite(
  (sql, p: { mount_id: string; now_ms: number }) =>
    sql
      .insertInto('pki_revision')
      .values({ ...NO_REVOCATIONS, mount_id: p.mount_id, lists_modified_at_ms: p.now_ms })
      .onConflict((clash) =>
        clash.column('mount_id').doUpdateSet((row) => ({
          // What one node has said is not taken back by another one that was slower.
          lists_modified_at_ms: row
            .case()
            .when('pki_revision.lists_modified_at_ms', '<', p.now_ms)
            .then(row.ref('excluded.lists_modified_at_ms'))
            .else(row.ref('pki_revision.lists_modified_at_ms'))
            .end(),
        })),
      ),
  { rows: 1 },
);

const touchOfDeltas = preparedWrite(
  (sql, p: { mount_id: string; now_ms: number }) =>
    sql
      .insertInto('pki_revision')
      .values({ ...NO_REVOCATIONS, mount_id: p.mount_id, deltas_modified_at_ms: p.now_ms })
      .onConflict((clash) =>
        clash.column('mount_id').doUpdateSet((row) => ({
          deltas_modified_at_ms: row
            .case()
            .when('pki_revision.deltas_modified_at_ms', '<', p.now_ms)
            .then(row.ref('excluded.deltas_modified_at_ms'))
            .else(row.ref('pki_revision.deltas_modified_at_ms'))
            .end(),
        })),
      ),
  { rows: 1 },
);

/** The CRL addresses of the mount show something else from now on, those of deltas among them. */
export function touchCrls(mount_id: string, now_ms: number): Write {
  return touch({ mount_id, now_ms });
}

/** The addresses of delta CRLs alone show something else from now on. */
export function touchDeltaCrls(mount_id: string, now_ms: number): Write {
  return touchOfDeltas({ mount_id, now_ms });
}

/** How far the revocations of a mount have come. */
export interface RevocationState {
  /** How many the mount has ever had. */
  revision: number;
  /** Grows when revocations are taken away: CRLs from before then are of no use any more. */
  epoch: number;
  /** Shared by all CRLs of the mount; 0: none was ever built. */
  lists_modified_at_ms: number;
  /** Of its delta CRLs, where that is later. */
  deltas_modified_at_ms: number;
}

const stateRow = prepared((sql, p: { mount_id: string }) =>
  sql
    .selectFrom('pki_revision')
    .select(['revision', 'epoch', 'lists_modified_at_ms', 'deltas_modified_at_ms'])
    .where('mount_id', '=', p.mount_id),
);

export async function readRevocationState(db: Db, mount_id: string): Promise<RevocationState> {
  const row = await stateRow.first(db, { mount_id });
  return row ?? NO_REVOCATIONS;
}

/** What CRLs are made of. */
export interface ListedRevocation extends Required<ClusterRevocation> {
  /** The mount's revision once it was revoked. */
  revision: number;
  /** Which clusters have it only since a later one; see `sinceWhen`. */
  joined: string;
}

/** Columns of {@link ListedRevocation}. */
export const LISTED = [...COLUMNS, 'not_after', 'revision', 'joined'] as const;

/** Revocations up to a revision, in order of their serial numbers' text, after `after` and up to `last`; each with its own revision. */
export const revocationsUpTo = prepared(
  (sql, p: { mount_id: string; revision: number; after: string; last: string; limit: number }) =>
    sql
      .selectFrom('pki_revocation')
      .select(LISTED)
      .where('mount_id', '=', p.mount_id)
      .where('serial', '>', p.after)
      .where('serial', '<=', p.last)
      .where('revision', '<=', p.revision)
      .orderBy('serial')
      .limit(p.limit),
);

/** The revocations of some revisions, `after` excluded, oldest first; meant for a few thousand. */
export const revocationsBetween = prepared(
  (sql, p: { mount_id: string; after: number; up_to: number }) =>
    sql
      .selectFrom('pki_revocation')
      .select(LISTED)
      .where('mount_id', '=', p.mount_id)
      .where('revision', '>', p.after)
      .where('revision', '<=', p.up_to)
      .orderBy('revision'),
);

/** Revocations of certificates that ended in a time, `from` included and `before` excluded, so many at most. */
export const revocationsEnded = prepared(
  (sql, p: { mount_id: string; from: number; before: number; limit: number }) =>
    sql
      .selectFrom('pki_revocation')
      .select(LISTED)
      .where('mount_id', '=', p.mount_id)
      .where('not_after', '>=', p.from)
      .where('not_after', '<', p.before)
      .limit(p.limit),
);
