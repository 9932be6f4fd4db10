import { sql } from 'kysely';
import { type Db, prepared } from '../../store/database.ts';
import { serialIn, unindexedEnd } from '../../store/serial-in.ts';
import { decodeNames } from '../certificates/names.ts';
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

const namesOf = prepared((from, p: { mount_id: string; serial: string }) =>
  from
    .selectFrom('pki_certificate')
    .select(['subject_cn', 'names'])
    .where('mount_id', '=', p.mount_id)
    .where('serial', '=', p.serial),
);

/** Names that a certificate is found by, backwards, in their order. */
export async function listNames(db: Db, mount_id: string, serial: string): Promise<string[]> {
  const row = await namesOf.first(db, { mount_id, serial });
  return row ? decodeNames(row) : [];
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
 * @param not_after of the other
 * @param reversed its names, backwards
 * @param among their serial numbers
 * @param lost ids of issuers whose certificates are not relied on any more
 */
export async function findLaterEnd(
  db: Db,
  mount_id: string,
  { not_after, reversed }: { not_after: number; reversed: readonly string[] },
  among: readonly string[],
  lost: readonly string[],
): Promise<number | undefined> {
  if (among.length === 0) return undefined;
  // Each by the key of the names, which are several thousand at most.
  const shared = sql<number>`(
    select count(*) from pki_certificate_name as theirs
    where theirs.mount_id = ${mount_id} and theirs.reversed in (${sql.join(reversed)})
      and theirs.serial = pki_certificate.serial
  )`;
  const row = await db
    .selectFrom('pki_certificate')
    .select(({ fn }) => fn.max(unindexedEnd).as('latest'))
    .where(serialIn(mount_id, among))
    .where(unindexedEnd, '>', not_after)
    .where('revoked_at_ms', 'is', null)
    .$if(lost.length > 0, (query) => query.where('issuer_id', 'not in', lost))
    .where(shared, '=', reversed.length)
    .executeTakeFirst();
  return row?.latest ?? undefined;
}
