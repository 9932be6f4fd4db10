import { type Db, prepared, preparedWrite } from '../../store/database.ts';
import type { Tables } from '../../store/tables.ts';
import type { Write } from '../../store/write.ts';
import { parseCrlName } from './kind.ts';

type Row = Tables['pki_crl'];

/**
 * A CRL as it was built last, without its entries, and what makes the same one again, byte for byte, out of the
 * revocations. Its `revision` is how many of these the mount had when it was built, `base` what else it was built from:
 * issuers, usage, settings. A CRL made from others is stale. Instants in Unix seconds, unless named.
 */
export type StoredCrl = Omit<Row, 'mount_id' | 'class'>;

const COLUMNS = [
  'number',
  'last_number',
  'revision',
  'base',
  'this_update',
  'next_update',
  'modified_at_ms',
  'scope',
  'before_entries',
  'after_entries',
  'algorithm',
  'signature',
  'entries',
  'ended_before',
  'ended_revision',
] as const satisfies (keyof StoredCrl)[];

const byClass = prepared((sql, p: { mount_id: string; class: string }) =>
  sql
    .selectFrom('pki_crl')
    .select(COLUMNS)
    .where('mount_id', '=', p.mount_id)
    .where('class', '=', p.class),
);

/** @param crlClass issuers with one subject and key share a CRL, see `issuer-class.ts`; and which of theirs, see `kind.ts` */
export function findCrl(
  db: Db,
  mount_id: string,
  crlClass: string,
): Promise<StoredCrl | undefined> {
  return byClass.first(db, { mount_id, class: crlClass });
}

/** A CRL that is newer than the stored one, and covers as much; one that is not is a conflict. */
export const saveCrl: (crl: Row) => Write = preparedWrite<Row>(
  (sql, p) => {
    const values = Object.fromEntries(COLUMNS.map((column) => [column, p[column]])) as StoredCrl;
    return sql
      .insertInto('pki_crl')
      .values({ mount_id: p.mount_id, class: p.class, ...values })
      .onConflict((clash) =>
        clash
          .columns(['mount_id', 'class'])
          .doUpdateSet((row) =>
            Object.fromEntries(COLUMNS.map((column) => [column, row.ref(`excluded.${column}`)])),
          )
          .whereRef('pki_crl.last_number', '<', 'excluded.last_number')
          // A node that began earlier may end later, with a clock that is ahead: what one CRL
          // has said, the next never takes back.
          .whereRef('pki_crl.revision', '<=', 'excluded.revision'),
      );
  },
  { rows: 1, conflict: 'a newer CRL is there already' },
);

/**
 * A number for a delta of a complete CRL: they share theirs (RFC 5280 §5.2.3), so that no two are alike. Refused when the
 * complete one is another by now, or the number was taken.
 */
export const takeNumber = preparedWrite(
  (sql, p: { mount_id: string; class: string; base: number; number: number }) =>
    sql
      .updateTable('pki_crl')
      .set({ last_number: p.number })
      .where('mount_id', '=', p.mount_id)
      .where('class', '=', p.class)
      .where('number', '=', p.base)
      .where('last_number', '<', p.number),
  { rows: 1, conflict: 'the complete CRL of a delta is another by now' },
);

/** A stored CRL and when it was made, without what it is made of. */
export type CrlTimes = Pick<
  Row,
  'mount_id' | 'class' | 'number' | 'last_number' | 'revision' | 'this_update' | 'next_update'
>;

/** CRLs of all mounts in order of mount and name, a page of them. */
export const listCrlTimes = prepared((sql, p: { mount_id: string; class: string; limit: number }) =>
  sql
    .selectFrom('pki_crl')
    .select([
      'mount_id',
      'class',
      'number',
      'last_number',
      'revision',
      'this_update',
      'next_update',
    ])
    .where((row) =>
      row.or([
        row('mount_id', '>', p.mount_id),
        row.and([row('mount_id', '=', p.mount_id), row('class', '>', p.class)]),
      ]),
    )
    .orderBy('mount_id')
    .orderBy('class')
    .limit(p.limit),
);

const ofClass = prepared((sql, p: { mount_id: string; class_id: string; end: string }) =>
  sql
    .selectFrom('pki_crl')
    .select(['class', 'next_update', 'ended_before', 'ended_revision'])
    .where('mount_id', '=', p.mount_id)
    .where('class', '>=', p.class_id)
    .where('class', '<', p.end),
);

/** The complete CRLs of a class of issuers: of each cluster, and of all of them. */
export async function listCompleteCrls(db: Db, mount_id: string, class_id: string) {
  // Their names go on with a slash, and the next sign is 0.
  const all = await ofClass.all(db, { mount_id, class_id, end: `${class_id}0` });
  return all.filter((one) => !parseCrlName(one.class).kind.delta);
}
