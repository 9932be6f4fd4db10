import { sql } from 'kysely';
import { build, type Db, prepared } from '../../store/database.ts';
import { partsOf } from '../../store/in-blocks.ts';
import { serialIn, unindexedEnd } from '../../store/serial-in.ts';
import { type Write, write } from '../../store/write.ts';
import { deleteNames } from '../certificates/names.store.ts';
import type { NamesOfRow } from '../certificates/names.ts';
import { CERTIFICATES } from '../certificates/store.ts';
import { countFewer } from '../mount-state/counts.store.ts';
import { REVOCATIONS } from '../mount-state/revocations.store.ts';

/** A place in the order of the index that pages go by. */
export interface End {
  not_after: number;
  serial: string;
}

export const FIRST_END: End = { not_after: -1, serial: '' };

type PageOf = {
  mount_id: string;
  before: number;
  not_after: number;
  serial: string;
  limit: number;
};

/** Certificates that ended before a moment, those that ended first coming first. */
export const endedCertificates = prepared((db, p: PageOf) =>
  db
    .selectFrom('pki_certificate')
    .select(['not_after', 'serial'])
    .where('mount_id', '=', p.mount_id)
    .where('not_after', '<', p.before)
    .where(sql<boolean>`(not_after, serial) > (${p.not_after}, ${p.serial})`)
    .orderBy('not_after')
    .orderBy('serial')
    .limit(p.limit),
);

/** The same of revocations, each with its revisions and with who revoked what was whose. */
export const endedRevocations = prepared((db, p: PageOf) =>
  db
    .selectFrom('pki_revocation')
    .select(['not_after', 'serial', 'revision', 'joined_revision', 'clusters', 'issued_by'])
    .where('mount_id', '=', p.mount_id)
    .where('not_after', '<', p.before)
    .where(sql<boolean>`(not_after, serial) > (${p.not_after}, ${p.serial})`)
    .orderBy('not_after')
    .orderBy('serial')
    .limit(p.limit),
);

/**
 * Removes certificates, their names, and as many from the count.
 *
 * @param before none of them has ended later, or nothing is removed
 */
export function deleteEndedCertificates(
  mount_id: string,
  certificates: readonly Removed[],
  before: number,
): Write[] {
  const serials = certificates.map(({ serial }) => serial);
  const rows = some('pki_certificate', mount_id, serials).where(unindexedEnd, '<', before);
  return [write(rows, counted(serials)), ...deleteWithThem(mount_id, certificates)];
}

/** Removes certificates that cannot be read, whatever their columns say. */
export function deleteUnreadable(mount_id: string, certificates: readonly Removed[]): Write[] {
  const serials = certificates.map(({ serial }) => serial);
  const rows = some('pki_certificate', mount_id, serials);
  return [write(rows, counted(serials)), ...deleteWithThem(mount_id, certificates)];
}

/** A certificate that is removed, and what it is found by. */
type Removed = NamesOfRow & { serial: string };

type Table = 'pki_certificate' | 'pki_revocation';

const some = <Name extends Table>(table: Name, mount_id: string, serials: readonly string[]) =>
  build.deleteFrom<Table>(table).where(serialIn(mount_id, serials));

/** What is counted is what is removed, or nothing is. */
const counted = (serials: readonly string[]) => ({
  rows: serials.length,
  conflict: 'what is tidied was changed by somebody else meanwhile: tidy again',
});

const deleteWithThem = (mount_id: string, certificates: readonly Removed[]): Write[] => [
  ...deleteNames(mount_id, certificates),
  countFewer({ mount_id, name: CERTIFICATES, fewer: certificates.length }),
];

/**
 * Removes revocations that are on no CRL any more, and as many from the count.
 *
 * @param past.revision what a further cluster has revoked since then is to be on its CRL yet, or nothing is removed
 */
export function deleteRevocations(
  mount_id: string,
  serials: readonly string[],
  { before, revision }: { before: number; revision: number },
): Write[] {
  const rows = some('pki_revocation', mount_id, serials)
    .where(unindexedEnd, '<', before)
    .where((row) =>
      row.or([row('joined_revision', 'is', null), row('joined_revision', '<=', revision)]),
    );
  return [
    write(rows, counted(serials)),
    countFewer({ mount_id, name: REVOCATIONS, fewer: serials.length }),
  ];
}

/** Some serial numbers, and those of their certificates that are stored, though they have ended. */
interface EndedPart {
  serials: string[];
  stored: Removed[];
}

/** Parts of a page of serial numbers: the certificates of each have as many bytes of names as are read at once. */
export async function* partsWithNames(
  db: Db,
  mount_id: string,
  serials: readonly string[],
  before: number,
): AsyncGenerator<EndedPart> {
  const stored = (some: readonly string[]) =>
    db
      .selectFrom('pki_certificate')
      .where(serialIn(mount_id, some))
      .where(unindexedEnd, '<', before);
  const measured = await stored(serials)
    .select(['serial', sql<number>`coalesce(octet_length(names), 0)`.as('bytes')])
    .execute();
  const bytesOf = new Map(measured.map(({ serial, bytes }) => [serial, bytes]));
  for (const part of partsOf(serials, (serial) => bytesOf.get(serial) ?? 0)) {
    const isAny = part.some((serial) => bytesOf.has(serial));
    const rows = isAny ? stored(part).select(['serial', 'subject_cn', 'names']).execute() : [];
    yield { serials: part, stored: await rows };
  }
}

/** All certificates in order of their serial numbers, with their bytes. */
export const certificatesWithBytes = prepared(
  (db, p: { mount_id: string; after: string; limit: number }) =>
    db
      .selectFrom('pki_certificate')
      .select(['serial', 'not_after', 'subject_cn', 'names', 'der'])
      .where('mount_id', '=', p.mount_id)
      .where('serial', '>', p.after)
      .orderBy('serial')
      .limit(p.limit),
);

/** Revocations of certificates whose issuer is not known, with the certificates where they are stored. */
export const unassignedRevocations = prepared(
  (db, p: { mount_id: string; after: string; limit: number }) =>
    db
      .selectFrom('pki_revocation')
      .leftJoin('pki_certificate', (join) =>
        join
          .onRef('pki_certificate.mount_id', '=', 'pki_revocation.mount_id')
          .onRef('pki_certificate.serial', '=', 'pki_revocation.serial'),
      )
      .select(['pki_revocation.serial', 'pki_certificate.der'])
      .where('pki_revocation.mount_id', '=', p.mount_id)
      .where('pki_revocation.issuer_id', '=', sql.lit(''))
      .where('pki_revocation.serial', '>', p.after)
      .orderBy('pki_revocation.serial')
      .limit(p.limit),
);

/** Says whose a revoked certificate is, where that was not known; it may change lists by that. */
export function assignIssuer(mount_id: string, serial: string, issuer_id: string): Write {
  return write(
    build
      .updateTable('pki_revocation')
      .set({ issuer_id })
      .where('mount_id', '=', mount_id)
      .where('serial', '=', serial)
      .where('issuer_id', '=', ''),
    { rows: 1, conflict: 'a revocation is not there any more' },
  );
}

/** All CRLs of a mount are to be made anew. */
export function renewCrls(mount_id: string): Write {
  return write(
    build
      .updateTable('pki_revision')
      .set((row) => ({ epoch: row('epoch', '+', 1) }))
      .where('mount_id', '=', mount_id),
    { rows: 1 },
  );
}
