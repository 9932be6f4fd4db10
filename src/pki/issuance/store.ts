import { preparedHold } from '../../store/held.ts';

/**
 * Refuses its write set unless the role and the mount's settings are what they were, and the mount's
 * issuers, keys and defaults are those that the certificate was decided on.
 */
export const holdGround = preparedHold<{
  mount_id: string;
  role: string;
  /** Of the role's text. */
  role_tag: string;
  version: number;
  /** Of the mount's text. */
  mount_tag: string;
}>(
  (from, p) =>
    from
      .selectFrom(['pki_role', 'pki_authority', 'mount'])
      .select('pki_role.name')
      .where('pki_role.mount_id', '=', p.mount_id)
      .where('pki_role.name', '=', p.role)
      .where('pki_role.body_tag', '=', p.role_tag)
      .where('pki_authority.mount_id', '=', p.mount_id)
      .where('pki_authority.version', '=', p.version)
      .where('mount.id', '=', p.mount_id)
      .where('mount.body_tag', '=', p.mount_tag)
      .forShare(),
  { rows: 1, conflict: 'what the certificate rests on was changed meanwhile: try again' },
);
