import { saveAsRead } from '../../store/as-read.ts';
import type { Db } from '../../store/database.ts';
import type { Tables } from '../../store/tables.ts';
import type { Write } from '../../store/write.ts';

type PolicyRow = Omit<Tables['pki_external_policy'], 'mount_id'>;

export function findPolicy(db: Db, mount_id: string): Promise<PolicyRow | undefined> {
  return db
    .selectFrom('pki_external_policy')
    .select(['version', 'updated_at_ms', 'body', 'client_key_sealed'])
    .where('mount_id', '=', mount_id)
    .executeTakeFirst();
}

/** @param read the version of the row that is being replaced; undefined for none */
export function savePolicy(
  mount_id: string,
  read: number | undefined,
  next: Omit<PolicyRow, 'version'>,
): Write {
  return saveAsRead('pki_external_policy', {
    key: { mount_id },
    read: read === undefined ? undefined : { version: read },
    next: { ...next, version: (read ?? 0) + 1 },
  });
}
