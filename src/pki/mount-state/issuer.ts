import { hash } from 'node:crypto';
import { z } from 'zod';
import { flag } from '../../core/fields.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { encodePem } from '../../core/pem.ts';
import { formatTimestamp } from '../../core/timestamps.ts';
import { SIGNATURE_ALGORITHMS, type SignatureAlgorithm } from '../../x509/algorithms.ts';
import type { Certificate } from '../../x509/certificate.ts';
import { type AuthorityUrls, NO_URLS, urlFields } from './urls.ts';

/** What an issuer may be used for, in the order in which the API lists them. */
export const USAGES = ['crl-signing', 'issuing-certificates', 'ocsp-signing', 'read-only'] as const;
export type Usage = (typeof USAGES)[number];

export const NOT_AFTER_BEHAVIORS = ['err', 'truncate', 'permit', 'always_enforce_err'] as const;
export type NotAfterBehavior = (typeof NOT_AFTER_BEHAVIORS)[number];

/** Settings of an issuer that are told as they are written. */
export const issuerFlags = {
  enable_aia_url_templating: flag(false).describe('Fill in templates in the URLs above.'),
  disable_critical_extension_checks: flag(false).describe('Kept and answered.'),
  disable_path_length_checks: flag(false).describe('Kept and answered.'),
  disable_name_checks: flag(false).describe('Kept and answered.'),
  disable_name_constraint_checks: flag(false).describe('Kept and answered.'),
};
const issuerFlagsSchema = z.object(issuerFlags);

/** The settings of an issuer that a client can change, apart from its name. */
export interface IssuerSettings extends AuthorityUrls, z.output<typeof issuerFlagsSchema> {
  leaf_not_after_behavior: NotAfterBehavior;
  /** Sorted; always with `read-only`. */
  usage: Usage[];
  /** Ids of issuers, its own first; null: worked out. */
  manual_chain: string[] | null;
  /** Empty: as fits the key. */
  revocation_signature_algorithm: SignatureAlgorithm | '';
}

export const DEFAULT_SETTINGS: IssuerSettings = {
  ...NO_URLS,
  ...issuerFlagsSchema.parse({}),
  leaf_not_after_behavior: 'err',
  usage: [...USAGES],
  manual_chain: null,
  revocation_signature_algorithm: '',
};

/** Whether the certificate lets its key sign CRLs (RFC 5280 §4.2.1.3). */
export function maySignCrls({ keyUsage }: Pick<Certificate, 'keyUsage'>): boolean {
  return keyUsage === undefined || keyUsage.includes('CRLSign');
}

/** Whether the certificate lets its key sign certificates: otherwise no verifier takes any (RFC 5280 §4.2.1.3). */
export function mayIssue({ keyUsage }: Pick<Certificate, 'keyUsage'>): boolean {
  return keyUsage === undefined || keyUsage.includes('CertSign');
}

/** A CA certificate of a mount with its settings, as the store keeps it. */
export interface IssuerRecord {
  id: string;
  /** Empty for none. */
  name: string;
  /** Empty when the key is not in this mount. */
  key_id: string;
  /** DER. */
  certificate: Uint8Array;
  settings: IssuerSettings;
  revoked_at_ms: number | undefined;
  /** CRLReason of RFC 5280 §5.3.1; 0: unspecified, and of one that is not revoked. */
  revocation_reason: number;
  modified_at_ms: number;
  created_at_ms: number;
  /** Grows with every change of it, but for that of `modified_at_ms` alone. */
  version: number;
}

/** An issuer as operations use it: parsed once, with its chain worked out. */
export interface Issuer extends Omit<IssuerRecord, 'certificate'> {
  certificate: Certificate;
  /** Itself first, then its parents. */
  chain: readonly Certificate[];
  /** Id of an issuer of the mount that signed it; empty where there is none, and for one that signed itself. */
  signed_by: string;
}

/** An issuer as it is once it is revoked: it issues no more, and signs for what it has issued. */
export function revokedAt(
  issuer: Issuer,
  { revoked_at_ms, reason }: { revoked_at_ms: number; reason: number },
): Issuer {
  const usage = issuer.settings.usage.filter((word) => word !== 'issuing-certificates');
  const settings = { ...issuer.settings, usage };
  return { ...issuer, settings, revoked_at_ms, revocation_reason: reason };
}

/** By what a CA certificate is known again: nobody but its signer can make another one with the same. Hex. */
export const tbsHashOf = memoizeWeak(({ tbs }: Certificate): string => hash('sha256', tbs));

/** An issuer in the form in which it is stored. */
export function recordOf(issuer: Issuer): IssuerRecord {
  const { chain: _, signed_by: __, certificate, ...record } = issuer;
  return { ...record, certificate: certificate.raw };
}

/** A CA certificate for all the answers it is part of: PEM, made when it is asked for first. */
export const pemOf = memoizeWeak(({ raw }: Certificate) => encodeCertificatePem(raw));

/** PEM without a newline at its end. */
export function encodeCertificatePem(der: Uint8Array): string {
  return encodePem('CERTIFICATE', der);
}

/** The answer to a read of an issuer. */
export const issuerSchema = z.object({
  issuer_id: z.string(),
  issuer_name: z.string().describe('Empty for none.'),
  key_id: z.string().describe('Empty when the key is not in this mount.'),
  certificate: z.string().describe('PEM.'),
  ca_chain: z.array(z.string()).describe('PEM: itself, then its parents.'),
  manual_chain: z.array(z.string()).nullable().describe('Ids, its own first; null: worked out.'),
  leaf_not_after_behavior: z.enum(NOT_AFTER_BEHAVIORS),
  usage: z.string().describe('Words with commas between.'),
  revocation_signature_algorithm: z
    .enum(['', 'Ed25519', ...SIGNATURE_ALGORITHMS])
    .describe('Empty: as fits the key.'),
  ...urlFields,
  ...issuerFlags,
  revoked: z.boolean(),
  revocation_time: z.int().optional().describe('Unix seconds; of a revoked one.'),
  revocation_time_rfc3339: z.string().optional().describe('Of a revoked one.'),
});

/** Its certificate and chain, as everybody may read them. @see P-90 */
export function describeIssuerChain(issuer: Issuer) {
  return {
    ca_chain: issuer.chain.map((certificate) => `${pemOf(certificate)}\n`),
    certificate: `${pemOf(issuer.certificate)}\n`,
    issuer_id: issuer.id,
    issuer_name: issuer.name,
  };
}

/** @see P-90 */
export function describeIssuer(issuer: Issuer): z.output<typeof issuerSchema> {
  const { usage, revocation_signature_algorithm: algorithm, ...settings } = issuer.settings;
  return {
    ...describeIssuerChain(issuer),
    ...settings,
    revocation_signature_algorithm: algorithm === 'PureEd25519' ? 'Ed25519' : algorithm,
    key_id: issuer.key_id,
    ...(issuer.revoked_at_ms !== undefined && {
      revocation_time: Math.floor(issuer.revoked_at_ms / 1000),
      revocation_time_rfc3339: formatTimestampMs(issuer.revoked_at_ms),
    }),
    revoked: issuer.revoked_at_ms !== undefined,
    usage: usage.join(','),
  };
}

/** RFC 3339 with milliseconds, UTC; whole seconds without them. */
export function formatTimestampMs(milliseconds: number): string {
  return milliseconds % 1000 === 0
    ? formatTimestamp(milliseconds / 1000)
    : new Date(milliseconds).toISOString();
}
