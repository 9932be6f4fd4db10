import { type Db, prepared, preparedWrite } from '../../store/database.ts';
import type { Write } from '../../store/write.ts';

/** A list as it was built last. Instants in Unix seconds, milliseconds where named so. */
export interface StoredCrl {
  number: number;
  /** Revocations that the mount had when it was built. */
  revision: number;
  /** What else it was built from: issuers, usage, settings. A list from other ground is stale. */
  base: string;
  this_update: number;
  next_update: number;
  modified_at_ms: number;
  der: Uint8Array;
}

const byClass = prepared((sql, p: { mount_id: string; class: string }) =>
  sql
    .selectFrom('pki_crl')
    .select(['number', 'revision', 'base', 'this_update', 'next_update', 'modified_at_ms', 'der'])
    .where('mount_id', '=', p.mount_id)
    .where('class', '=', p.class),
);

/** @param crlClass issuers with one subject and key share a list; see `issuer-class.ts` */
export function findCrl(
  db: Db,
  mount_id: string,
  crlClass: string,
): Promise<StoredCrl | undefined> {
  return byClass.first(db, { mount_id, class: crlClass });
}

const headByClass = prepared((sql, p: { mount_id: string; class: string }) =>
  sql
    .selectFrom('pki_crl')
    .select(['number', 'revision', 'base', 'this_update', 'next_update', 'modified_at_ms'])
    .where('mount_id', '=', p.mount_id)
    .where('class', '=', p.class),
);

/** All of it but the bytes. */
export function findCrlHead(
  db: Db,
  mount_id: string,
  crlClass: string,
): Promise<Omit<StoredCrl, 'der'> | undefined> {
  return headByClass.first(db, { mount_id, class: crlClass });
}

/** Publishes a list; one with a number that is not larger than the present one's is refused. */
export const saveCrl = preparedWrite(
  (
    sql,
    p: StoredCrl & { mount_id: string; class: string } & Record<
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
      der: p.der,
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
            der: row.ref('excluded.der'),
          }))
          .whereRef('pki_crl.number', '<', 'excluded.number'),
      );
  },
  { rows: 1, conflict: 'a newer CRL is there already' },
) as (crl: StoredCrl & { mount_id: string; class: string }) => Write;
