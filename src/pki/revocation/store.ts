import { type Db, prepared, preparedWrite } from '../../store/database.ts';
import type { Write } from '../../store/write.ts';

/** That a certificate is revoked, as the store keeps it. */
export interface Revocation {
  /** Lower-case colon hex. */
  serial: string;
  /** Empty when no issuer of the mount is known to have signed it. */
  issuer_id: string;
  revoked_at_ms: number;
  /** CRLReason of RFC 5280 §5.3.1; 0: unspecified. */
  reason: number;
}

const bySerial = prepared((sql, p: { mount_id: string; serial: string }) =>
  sql
    .selectFrom('pki_revocation')
    .select(['serial', 'issuer_id', 'revoked_at_ms', 'reason'])
    .where('mount_id', '=', p.mount_id)
    .where('serial', '=', p.serial),
);

export function findRevocation(
  db: Db,
  mount_id: string,
  serial: string,
): Promise<Revocation | undefined> {
  return bySerial.first(db, { mount_id, serial });
}

const page = prepared((sql, p: { mount_id: string; after: string; limit: number }) =>
  sql
    .selectFrom('pki_revocation')
    .select(['serial', 'issuer_id', 'revoked_at_ms', 'reason'])
    .where('mount_id', '=', p.mount_id)
    .where('serial', '>', p.after)
    .orderBy('serial')
    .limit(p.limit),
);

/** Revocations in order of their serial numbers' text, after `after`. */
export function listRevocations(
  db: Db,
  mount_id: string,
  from: { after: string; limit: number },
): Promise<Revocation[]> {
  return page.all(db, { mount_id, ...from });
}

const insertRow = preparedWrite(
  (sql, p: Revocation & { mount_id: string } & Record<string, string | number>) =>
    sql.insertInto('pki_revocation').values({
      mount_id: p.mount_id,
      serial: p.serial,
      issuer_id: p.issuer_id,
      revoked_at_ms: p.revoked_at_ms,
      reason: p.reason,
    }),
  { rows: 1, conflict: 'the certificate is revoked already' },
);

const grow = preparedWrite(
  (sql, p: { mount_id: string }) =>
    sql
      .insertInto('pki_revision')
      .values({ mount_id: p.mount_id, revision: 1 })
      .onConflict((clash) =>
        clash
          .column('mount_id')
          .doUpdateSet((row) => ({ revision: row('pki_revision.revision', '+', 1) })),
      ),
  { rows: 1 },
);

/** A new revocation; the second of one serial number is a conflict, so the first one's time stays. */
export function insertRevocation(mount_id: string, revocation: Revocation): Write[] {
  return [insertRow({ mount_id, ...revocation }), grow({ mount_id })];
}

const revisionRow = prepared((sql, p: { mount_id: string }) =>
  sql.selectFrom('pki_revision').select('revision').where('mount_id', '=', p.mount_id),
);

/** How many revocations the mount has ever had. */
export async function readRevision(db: Db, mount_id: string): Promise<number> {
  return (await revisionRow.first(db, { mount_id }))?.revision ?? 0;
}
