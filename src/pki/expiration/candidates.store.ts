import { sql } from 'kysely';
import { type Db, prepared } from '../../store/database.ts';
import { serialIn, unindexedEnd } from '../../store/serial-in.ts';
import type { StoredCertificate } from '../certificates/store.ts';

export type Candidate = Omit<StoredCertificate, 'der' | 'revocation_reason' | 'clusters'>;

/** A place in the order of ends. */
export interface End {
  not_after: number;
  serial: string;
}

/** The next certificates of a mount by their ends, whatever they are: the index has that order. */
export function listEnding(
  db: Db,
  mount_id: string,
  { from, to, limit }: { from: End; to: number; limit: number },
): Promise<Candidate[]> {
  return db
    .selectFrom('pki_certificate')
    .select([
      'serial',
      'issuer_id',
      'role',
      'subject_cn',
      'not_before',
      'not_after',
      'revoked_at_ms',
    ])
    .where('mount_id', '=', mount_id)
    .where(sql<boolean>`(not_after, serial) > (${from.not_after}, ${from.serial})`)
    .where('not_after', '<=', to)
    .orderBy('not_after')
    .orderBy('serial')
    .limit(limit)
    .execute();
}

const namesOf = prepared((from, p: { mount_id: string; serial: string; limit: number }) =>
  from
    .selectFrom('pki_certificate_name')
    .select('reversed')
    .where('mount_id', '=', p.mount_id)
    .where('serial', '=', p.serial)
    .orderBy('reversed')
    .limit(p.limit),
);

/** Names that a certificate is found by, backwards, in their order. */
export async function listNames(
  db: Db,
  mount_id: string,
  serial: string,
  limit: number,
): Promise<string[]> {
  const rows = await namesOf.all(db, { mount_id, serial, limit });
  return rows.map(({ reversed }) => reversed);
}

const serialsNamed = prepared(
  (from, p: { mount_id: string; reversed: string; after: string; limit: number }) =>
    from
      .selectFrom('pki_certificate_name')
      .select('serial')
      .where('mount_id', '=', p.mount_id)
      .where('reversed', '=', p.reversed)
      .where('serial', '>', p.after)
      .orderBy('serial')
      .limit(p.limit),
);

/** Certificates with a name, some after a serial number. */
export async function listNamed(
  db: Db,
  mount_id: string,
  { reversed, after, limit }: { reversed: string; after: string; limit: number },
): Promise<string[]> {
  const rows = await serialsNamed.all(db, { mount_id, reversed, after, limit });
  return rows.map(({ serial }) => serial);
}

/**
 * The latest end of those of some certificates that have all names of another, end after it and are not revoked.
 *
 * @param among their serial numbers
 * @param lost ids of issuers whose certificates are not relied on any more
 */
export async function findLaterEnd(
  db: Db,
  mount_id: string,
  { serial, not_after }: End,
  among: readonly string[],
  lost: readonly string[],
): Promise<number | undefined> {
  if (among.length === 0) return undefined;
  const lacking = sql<boolean>`exists (
    select 1 from pki_certificate_name as own
    where own.mount_id = ${mount_id} and own.serial = ${serial} and not exists (
      select 1 from pki_certificate_name as theirs
      where theirs.mount_id = ${mount_id} and theirs.reversed = own.reversed
        and theirs.serial = pki_certificate.serial
    )
  )`;
  const row = await db
    .selectFrom('pki_certificate')
    .select(({ fn }) => fn.max(unindexedEnd).as('latest'))
    .where(serialIn(mount_id, among))
    .where(unindexedEnd, '>', not_after)
    .where('revoked_at_ms', 'is', null)
    .$if(lost.length > 0, (query) => query.where('issuer_id', 'not in', lost))
    .where(({ not }) => not(lacking))
    .executeTakeFirst();
  return row?.latest ?? undefined;
}
