import { type Db, prepared, preparedWrite } from '../../store/database.ts';
import type { Write } from '../../store/write.ts';

/** A CRL as it was built last, without its entries. Instants in Unix seconds, unless named. */
export interface StoredCrl {
  number: number;
  /** Revocations that the mount had when it was built. */
  revision: number;
  /** What else it was built from: issuers, usage, settings. A CRL made from others is stale. */
  base: string;
  this_update: number;
  next_update: number;
  modified_at_ms: number;
}

/** What makes the same CRL again, byte for byte, out of the revocations. */
export interface StoredCrlSignature {
  /** Which revocations are on it; see `CrlScope`. */
  scope: string;
  before_entries: Uint8Array;
  after_entries: Uint8Array;
  algorithm: string;
  signature: Uint8Array;
}

const byClass = prepared((sql, p: { mount_id: string; class: string }) =>
  sql
    .selectFrom('pki_crl')
    .select(['number', 'revision', 'base', 'this_update', 'next_update', 'modified_at_ms'])
    .select(['scope', 'before_entries', 'after_entries', 'algorithm', 'signature'])
    .where('mount_id', '=', p.mount_id)
    .where('class', '=', p.class),
);

/** @param crlClass issuers with one subject and key share a CRL; see `issuer-class.ts` */
export function findCrl(
  db: Db,
  mount_id: string,
  crlClass: string,
): Promise<(StoredCrl & StoredCrlSignature) | undefined> {
  return byClass.first(db, { mount_id, class: crlClass });
}

/** A CRL that is newer than the stored one, and covers as much; one that is not is a conflict. */
export const saveCrl = preparedWrite(
  (
    sql,
    p: StoredCrl &
      StoredCrlSignature & { mount_id: string; class: string } & Record<
        string,
        string | number | Uint8Array
      >,
  ) => {
    const values = {
      number: p.number,
      revision: p.revision,
      base: p.base,
      this_update: p.this_update,
      next_update: p.next_update,
      modified_at_ms: p.modified_at_ms,
      scope: p.scope,
      before_entries: p.before_entries,
      after_entries: p.after_entries,
      algorithm: p.algorithm,
      signature: p.signature,
    };
    return sql
      .insertInto('pki_crl')
      .values({ mount_id: p.mount_id, class: p.class, ...values })
      .onConflict((clash) =>
        clash
          .columns(['mount_id', 'class'])
          .doUpdateSet((row) => ({
            number: row.ref('excluded.number'),
            revision: row.ref('excluded.revision'),
            base: row.ref('excluded.base'),
            this_update: row.ref('excluded.this_update'),
            next_update: row.ref('excluded.next_update'),
            modified_at_ms: row.ref('excluded.modified_at_ms'),
            scope: row.ref('excluded.scope'),
            before_entries: row.ref('excluded.before_entries'),
            after_entries: row.ref('excluded.after_entries'),
            algorithm: row.ref('excluded.algorithm'),
            signature: row.ref('excluded.signature'),
          }))
          .whereRef('pki_crl.number', '<', 'excluded.number')
          // A node that began earlier may end later, with a clock that is ahead: what one CRL
          // has said, the next never takes back.
          .whereRef('pki_crl.revision', '<=', 'excluded.revision'),
      );
  },
  { rows: 1, conflict: 'a newer CRL is there already' },
) as (crl: StoredCrl & StoredCrlSignature & { mount_id: string; class: string }) => Write;
