import { type Db, prepared, preparedWrite } from '../../store/database.ts';
import type { Tables } from '../../store/tables.ts';

/** A key that no certificate is made for, and the certificate that was revoked for it. */
type BlockedKey = Tables['pki_blocked_key'];

const byKey = prepared((db, p: { mount_id: string; key_sha256: string }) =>
  db
    .selectFrom('pki_blocked_key')
    .select(['serial', 'blocked_at_ms'])
    .where('mount_id', '=', p.mount_id)
    .where('key_sha256', '=', p.key_sha256),
);

/** @param key_sha256 as `keyFingerprint` writes it */
export function findBlockedKey(
  db: Db,
  mount_id: string,
  key_sha256: string,
): Promise<Pick<BlockedKey, 'serial' | 'blocked_at_ms'> | undefined> {
  return byKey.first(db, { mount_id, key_sha256 });
}

/** Blocks a key; one that is blocked already stays so. */
export const blockKey = preparedWrite((db, p: BlockedKey & Record<string, string | number>) =>
  db
    .insertInto('pki_blocked_key')
    .values({
      mount_id: p.mount_id,
      key_sha256: p.key_sha256,
      serial: p.serial,
      blocked_at_ms: p.blocked_at_ms,
    })
    .onConflict((clash) => clash.doNothing()),
);
