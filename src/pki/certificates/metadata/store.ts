import { sql } from 'kysely';
import { type Db, prepared, preparedWrite } from '../../../store/database.ts';
import { keyPages } from '../../../store/key-page.ts';
import type { Tables } from '../../../store/tables.ts';

/** What is kept with a certificate for whoever asked for it. */
export type StoredMetadata = Omit<Tables['pki_certificate_metadata'], 'mount_id'>;

const bySerial = prepared((db, p: { mount_id: string; serial: string }) =>
  db
    .selectFrom('pki_certificate_metadata')
    .select(['serial', 'issuer_id', 'role', 'not_after', 'data'])
    .where('mount_id', '=', p.mount_id)
    .where('serial', '=', p.serial),
);

/** @param serial lower-case colon hex, as `formatSerial` writes it */
export function findMetadata(
  db: Db,
  mount_id: string,
  serial: string,
): Promise<StoredMetadata | undefined> {
  return bySerial.first(db, { mount_id, serial });
}

/** Serial numbers of a mount that have metadata in order of their text, a page of them. */
export const listMetadataSerials = keyPages('pki_certificate_metadata', 'serial', ['mount_id']);

/** Belongs into the write set of the certificate. */
export const insertMetadata = preparedWrite(
  (db, p: Tables['pki_certificate_metadata'] & Record<string, string | number | Uint8Array>) =>
    db.insertInto('pki_certificate_metadata').values({
      mount_id: p.mount_id,
      serial: p.serial,
      issuer_id: p.issuer_id,
      role: p.role,
      not_after: p.not_after,
      data: p.data,
    }),
  { rows: 1, conflict: 'the serial number is taken: try again' },
);

/** Those that ended before a time, oldest first, so many after the last one: what may be tidied up. */
export function listEndedMetadata(
  db: Db,
  p: { mount_id: string; before: number; limit: number },
  last: { not_after: number; serial: string } = { not_after: 0, serial: '' },
): Promise<{ not_after: number; serial: string }[]> {
  return db
    .selectFrom('pki_certificate_metadata')
    .select(['not_after', 'serial'])
    .where('mount_id', '=', p.mount_id)
    .where(sql<boolean>`(not_after, serial) > (${last.not_after}, ${last.serial})`)
    .where('not_after', '<', p.before)
    .orderBy('not_after')
    .orderBy('serial')
    .limit(p.limit)
    .execute();
}

/** Removes what is kept with a certificate; where there is nothing, nothing. */
export const deleteMetadata = preparedWrite((db, p: { mount_id: string; serial: string }) =>
  db
    .deleteFrom('pki_certificate_metadata')
    .where('mount_id', '=', p.mount_id)
    .where('serial', '=', p.serial),
);
