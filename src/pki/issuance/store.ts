import type { build } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';

type Basis = {
  mount_id: string;
  issuing_version: number;
  issuer_id: string;
  issuer_version: number;
  key_id: string;
  /** Of the mount's text. */
  mount_tag: string;
};

type BasisWithRole = Basis & {
  role: string;
  /** Of the role's text. */
  role_tag: string;
};

const CHANGED = 'what the certificate rests on was changed meanwhile: try again';

/**
 * Refuses its write set unless the mount's settings are what they were, and the issuer, its key, the mount's default and
 * its URLs are those that the certificate was decided on. Other issuers and keys of the mount may change: whoever may
 * rename one of them would have everybody's certificates be refused. Nothing else had a part in the certificate.
 */
export const holdRolelessContext = preparedHold<Basis>(
  (from, p) => rowsOfBasis(from, p).forShare(),
  { rows: 1, conflict: CHANGED },
);

/** {@link holdRolelessContext}, and the role is what it was. */
export const holdIssuanceContext = preparedHold<BasisWithRole>(
  (from, p) =>
    rowsOfBasis(from, p)
      .innerJoin('pki_role', 'pki_role.mount_id', 'mount.id')
      .where('pki_role.name', '=', p.role)
      .where('pki_role.body_tag', '=', p.role_tag)
      .forShare(),
  { rows: 1, conflict: CHANGED },
);

/** {@link holdRolelessContext}, and the program that has described the certificate is what it was. */
export const holdCelContext = preparedHold<BasisWithRole>(
  (from, p) =>
    rowsOfBasis(from, p)
      .innerJoin('pki_cel_role', 'pki_cel_role.mount_id', 'mount.id')
      .where('pki_cel_role.name', '=', p.role)
      .where('pki_cel_role.body_tag', '=', p.role_tag)
      .forShare(),
  { rows: 1, conflict: CHANGED },
);

/** {@link holdRolelessContext}, and the settings of the service that has decided on the certificate are what they were. */
export const holdPolicyContext = preparedHold<Basis & { policy_version: number }>(
  (from, p) =>
    rowsOfBasis(from, p)
      .innerJoin('pki_external_policy', 'pki_external_policy.mount_id', 'mount.id')
      .where('pki_external_policy.version', '=', p.policy_version)
      .forShare(),
  { rows: 1, conflict: CHANGED },
);

function rowsOfBasis(from: typeof build, p: Basis) {
  return from
    .selectFrom(['pki_authority', 'pki_issuer', 'pki_key', 'mount'])
    .select('pki_issuer.id')
    .where('pki_authority.mount_id', '=', p.mount_id)
    .where('pki_authority.issuing_version', '=', p.issuing_version)
    .where('pki_issuer.mount_id', '=', p.mount_id)
    .where('pki_issuer.id', '=', p.issuer_id)
    .where('pki_issuer.version', '=', p.issuer_version)
    .where('pki_key.mount_id', '=', p.mount_id)
    .where('pki_key.id', '=', p.key_id)
    .where('mount.id', '=', p.mount_id)
    .where('mount.body_tag', '=', p.mount_tag);
}
