import type { Db } from '../../../store/database.ts';
import type { StoredCertificate } from '../store.ts';

export type DetailedRow = Pick<
  StoredCertificate,
  'serial' | 'subject_cn' | 'not_before' | 'not_after' | 'der'
>;

/** Some certificates with their bytes; one that has gone is left out. */
export function listWithBytes(
  db: Db,
  mount_id: string,
  serials: readonly string[],
): Promise<DetailedRow[]> {
  return db
    .selectFrom('pki_certificate')
    .select(['serial', 'subject_cn', 'not_before', 'not_after', 'der'])
    .where('mount_id', '=', mount_id)
    .where('serial', 'in', serials)
    .execute();
}
