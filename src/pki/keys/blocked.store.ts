import { type Db, prepared, preparedWrite } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import type { Tables } from '../../store/tables.ts';
import type { Write } from '../../store/write.ts';

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

/**
 * Waits for certificates of the mount that are being written, and keeps others waiting. What makes them holds the same row
 * (see `issuance/store.ts`), or changes it.
 */
const takeMount = preparedHold<{ mount_id: string }>((from, { mount_id }) =>
  from.selectFrom('pki_authority').select('mount_id').where('mount_id', '=', mount_id).forUpdate(),
);

const insertBlocked = preparedWrite((db, p: BlockedKey & Record<string, string | number>) =>
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

/** Blocks a key; one that is blocked already stays so. What is certified for it is durable before, or refused. */
export function blockKey(key: BlockedKey): Write[] {
  return [takeMount({ mount_id: key.mount_id }), insertBlocked({ ...key })];
}

/**
 * Refuses its write set once a key is blocked. It goes behind what holds the mount's issuers: it sees what that has waited
 * for, which a statement that waits itself does not.
 */
export const holdUnblockedKey = preparedHold<{ mount_id: string; key_sha256: string }>(
  (from, p) =>
    from
      .selectFrom('pki_authority')
      .select('mount_id')
      .where('mount_id', '=', p.mount_id)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('pki_blocked_key')
              .select('pki_blocked_key.serial')
              .where('pki_blocked_key.mount_id', '=', p.mount_id)
              .where('pki_blocked_key.key_sha256', '=', p.key_sha256),
          ),
        ),
      )
      .forKeyShare(),
  { rows: 1, conflict: 'the key was blocked meanwhile' },
);
