import { saveAsRead } from '../../store/as-read.ts';
import type { Db } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
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

/**
 * As `holdIssuanceContext`, of a certificate that a service has decided on: with the settings of that service in place of
 * a role.
 */
export const holdPolicyContext = preparedHold<{
  mount_id: string;
  policy_version: number;
  issuing_version: number;
  issuer_id: string;
  issuer_version: number;
  key_id: string;
  /** Of the mount's text. */
  mount_tag: string;
}>(
  (from, p) =>
    from
      .selectFrom(['pki_external_policy', 'pki_authority', 'pki_issuer', 'pki_key', 'mount'])
      .select('pki_issuer.id')
      .where('pki_external_policy.mount_id', '=', p.mount_id)
      .where('pki_external_policy.version', '=', p.policy_version)
      .where('pki_authority.mount_id', '=', p.mount_id)
      .where('pki_authority.issuing_version', '=', p.issuing_version)
      .where('pki_issuer.mount_id', '=', p.mount_id)
      .where('pki_issuer.id', '=', p.issuer_id)
      .where('pki_issuer.version', '=', p.issuer_version)
      .where('pki_key.mount_id', '=', p.mount_id)
      .where('pki_key.id', '=', p.key_id)
      .where('mount.id', '=', p.mount_id)
      .where('mount.body_tag', '=', p.mount_tag)
      .forShare(),
  { rows: 1, conflict: 'what the certificate rests on was changed meanwhile: try again' },
);
