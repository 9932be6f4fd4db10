import { type Db, preparedWrite } from '../../store/database.ts';
import type { Tables } from '../../store/tables.ts';

/** That an issuer was revoked which is not there any more. */
export type RevokedIssuer = Tables['pki_revoked_issuer'];

/** Remembers one; what is remembered of it already stays. */
export const rememberRevoked = preparedWrite(
  (sql, p: RevokedIssuer & Record<string, string | number>) =>
    sql
      .insertInto('pki_revoked_issuer')
      .values({
        mount_id: p.mount_id,
        tbs_sha256: p.tbs_sha256,
        revoked_at_ms: p.revoked_at_ms,
        reason: p.reason,
      })
      .onConflict((clash) => clash.doNothing()),
);

/** Those of some certificates that are remembered. @param hashes a few hundred at most */
export function listRemembered(
  db: Db,
  mount_id: string,
  hashes: readonly string[],
): Promise<RevokedIssuer[]> {
  return db
    .selectFrom('pki_revoked_issuer')
    .selectAll()
    .where('mount_id', '=', mount_id)
    .where('tbs_sha256', 'in', hashes)
    .execute();
}
