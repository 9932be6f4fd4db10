import { memoizeWeak } from '../../core/memoize-weak.ts';
import { chooseSignatureAlgorithm, type SignatureAlgorithm } from '../../x509/algorithms.ts';
import type { TbsCertificate } from '../../x509/certificate.ts';
import {
  authorityInfoAccess,
  crlDistributionPoints,
  freshestCrl,
} from '../../x509/extension-urls.ts';
import {
  authorityKeyIdentifier,
  type BasicConstraints,
  basicConstraints,
  type Extension,
  subjectAltName,
  subjectKeyIdentifier,
  withEncoding,
} from '../../x509/extensions.ts';
import { hasNoNames, type SubjectAltNames } from '../../x509/general-names.ts';
import { extKeyUsage, keyUsage } from '../../x509/key-usages.ts';
import { type KeyDescription, keyIdentifier } from '../../x509/keys.ts';
import { type NameConstraints, nameConstraints } from '../../x509/name-constraints.ts';
import { isEmptyName } from '../../x509/names.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import type { AuthorityUrls } from '../mount-state/urls.ts';

/** What is known of the one who signs. */
export interface Signer {
  /** DER of the Name, byte for byte as the signer's certificate has it. */
  subject: Uint8Array;
  /** subjectKeyIdentifier of the signer's certificate. */
  key_identifier: Uint8Array;
  key: KeyDescription;
}

/**
 * A certificate decided on but for its key and its serial number: those are made when nothing
 * can be refused any more.
 */
export interface CertificatePlan {
  /** DER of a Name. */
  subject: Uint8Array;
  names: SubjectAltNames;
  /** Absent for a certificate that signs itself: then the key certified is the one that signs. */
  signer?: Signer;
  /** Unix seconds, both. */
  notBefore: number;
  notAfter: number;
  /** Names of usages; none: no extension. */
  key_usage: readonly string[];
  /** Object identifiers; none: no extension. */
  ext_key_usage: readonly string[];
  /** Absent: no extension. */
  basic_constraints?: BasicConstraints;
  /** Absent: worked out from the key (RFC 5280 §4.2.1.2, method 1). */
  subject_key_id?: Uint8Array;
  urls: AuthorityUrls;
  certificate_policies?: Extension | undefined;
  name_constraints: Partial<NameConstraints>;
  /** Each takes the place of the extension above of the same type, or comes at the end. */
  extra_extensions: readonly Extension[];
  /** Only the key of an RSA signer honours these. */
  signature_bits: number;
  use_pss: boolean;
}

/** What a plan lacked. */
interface CertificateParts {
  /** DER. */
  subjectPublicKeyInfo: Uint8Array;
  /** What kind of key that is. */
  key: KeyDescription;
  /** Big-endian magnitude. */
  serialNumber: Uint8Array;
}

/**
 * Lays out a certificate for signing, its extensions in Vault's order.
 *
 * @throws Failure `invalid`, naming the field, for a name that its type cannot hold
 */
export function planCertificate(plan: CertificatePlan, parts: CertificateParts): TbsCertificate {
  return {
    serialNumber: parts.serialNumber,
    signatureAlgorithm: chooseAlgorithm(plan, parts.key),
    issuer: plan.signer?.subject ?? plan.subject,
    notBefore: plan.notBefore,
    notAfter: plan.notAfter,
    subject: plan.subject,
    subjectPublicKeyInfo: parts.subjectPublicKeyInfo,
    extensions: withExtras(planExtensions(plan, parts), plan.extra_extensions),
  };
}

/** @see P-69 */
function chooseAlgorithm(plan: CertificatePlan, own: KeyDescription): SignatureAlgorithm {
  return chooseSignatureAlgorithm({
    ...(plan.signer?.key ?? own),
    signature_bits: plan.signature_bits,
    use_pss: plan.use_pss,
  });
}

// The same for all certificates of an issuer or a role, as long as their configuration is in use.
const whole = (extension: Extension | undefined): Extension | undefined =>
  extension && withEncoding(extension);
const rememberedKeyUsage = memoizeWeak((names: readonly string[]) => whole(keyUsage(names)));
const rememberedUsage = memoizeWeak((oids: readonly string[]) => whole(extKeyUsage(oids)));
const rememberedIssuer = memoizeWeak((id: Uint8Array) => withEncoding(authorityKeyIdentifier(id)));
const rememberedAddresses = memoizeWeak((urls: AuthorityUrls) => ({
  access: whole(
    authorityInfoAccess({ ocsp: urls.ocsp_servers, caIssuers: urls.issuing_certificates }),
  ),
  points: whole(crlDistributionPoints(urls.crl_distribution_points)),
  freshest: whole(freshestCrl(urls.delta_crl_distribution_points)),
}));

/** @see P-63 */
function planExtensions(plan: CertificatePlan, parts: CertificateParts): Extension[] {
  const { names, signer } = plan;
  const { access, points, freshest } = rememberedAddresses(plan.urls);
  const own_id = plan.subject_key_id ?? keyIdentifier(parts.subjectPublicKeyInfo);
  const extensions = [
    rememberedKeyUsage(plan.key_usage),
    rememberedUsage(plan.ext_key_usage),
    plan.basic_constraints && basicConstraints(plan.basic_constraints),
    subjectKeyIdentifier(own_id),
    rememberedIssuer(signer?.key_identifier ?? own_id),
    access,
    // A certificate without a subject has its only names here (RFC 5280 §4.2.1.6).
    hasNoNames(names) ? undefined : subjectAltName(names, isEmptyName(plan.subject)),
    plan.certificate_policies,
    nameConstraints(plan.name_constraints),
    points,
    freshest,
  ];
  return extensions.filter((extension) => extension !== undefined);
}

function withExtras(planned: Extension[], extras: readonly Extension[]): Extension[] {
  if (extras.length === 0) return planned;
  const extraOf = new Map(extras.map((extension) => [extension.oid, extension]));
  // Whom the certificate was signed by is not for the requester to say.
  extraOf.delete(EXTENSION_OID.authorityKeyIdentifier);
  const merged = planned.map((extension) => {
    const extra = extraOf.get(extension.oid);
    extraOf.delete(extension.oid);
    return extra ?? extension;
  });
  return [...merged, ...extraOf.values()];
}
