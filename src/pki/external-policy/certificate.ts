import { Failure, invalid } from '../../core/failure.ts';
import { parsePem } from '../../core/pem.ts';
import { formatTimestamp } from '../../core/timestamps.ts';
import { fitsKey, type SignatureAlgorithm } from '../../x509/algorithms.ts';
import { type Certificate, parseCertificate } from '../../x509/certificate.ts';
import { type Extension, findExtension } from '../../x509/extensions.ts';
import { parseExtKeyUsage } from '../../x509/key-usages.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import { isForServers } from '../fields/usages.ts';
import { checkAuthorityNames } from '../profile/authority-names.ts';
import { commonNamesOf, subjectEmailsOf } from '../profile/csr-fields.ts';
import { checkNameConstraints, type IssuingFacts } from '../profile/issuing.ts';
import type { LeafContext, LeafPlan } from '../profile/leaf.ts';
import { NO_ROLE, planValidity } from '../profile/validity.ts';
import { csrNames } from '../profile/verbatim.ts';
import type { IssuanceMode } from './request.ts';

/** Bytes of a certificate that is taken from a service: it is read between other requests. */
const LONGEST_CERTIFICATE = 32 << 10;
const BLOCK = { maxLength: 64 << 10, maxBlocks: 1 };

/**
 * Reads the certificate that a service has made out, signed by anybody.
 *
 * @throws Failure `invalid`
 */
export function readAnswered(pem: string): Certificate {
  try {
    const [block] = parsePem(pem, BLOCK);
    if (block?.label !== 'CERTIFICATE') throw invalid('it is no certificate in PEM');
    if (block.der.length > LONGEST_CERTIFICATE) {
      throw invalid(`it has ${block.der.length} bytes, at most ${LONGEST_CERTIFICATE} are taken`);
    }
    return parseCertificate(block.der);
  } catch (error) {
    throw refused(error);
  }
}

/** That it is the certificate that is refused, whoever finds out. */
export function refused(error: unknown): unknown {
  if (!(error instanceof Failure) || error.kind !== 'invalid') return error;
  return invalid(`the external policy service's certificate is refused: ${error.message}`, {
    ...error.detail,
    recorded: "the external policy service's certificate is refused",
  });
}

/** What the issuer says, whatever the service has written there. */
const ISSUERS_OWN = new Set<string>([
  EXTENSION_OID.authorityKeyIdentifier,
  EXTENSION_OID.authorityInfoAccess,
  EXTENSION_OID.cRLDistributionPoints,
  EXTENSION_OID.freshestCRL,
]);
const NO_NAMES = { dns: [], email: [], ip: [], uri: [], other: [] };
const NONE: readonly string[] = [];
const NO_CONSTRAINTS = {};

interface Asked {
  mode: IssuanceMode;
  /** DER of the key that was sent. */
  subjectPublicKeyInfo: Uint8Array;
}

/**
 * Decides on the certificate that a service has made out: all of it is kept but what the issuer says of itself. No role
 * judges its names; what no verifier would take from this issuer is refused.
 *
 * @throws Failure `invalid` for another key than was sent, for a CA where none was asked for and the reverse, and for
 *   what the issuer does not allow
 * @see P-381
 */
export function planAnswered(
  certificate: Certificate,
  { mode, subjectPublicKeyInfo }: Asked,
  context: LeafContext,
): LeafPlan {
  const { issuer } = context;
  if (!Buffer.from(subjectPublicKeyInfo).equals(certificate.subjectPublicKeyInfo)) {
    throw invalid('it is for another key than the one that was sent');
  }
  checkAuthority(certificate, mode, issuer);
  checkNames(certificate, mode, issuer);
  const { notBefore } = certificate;
  const { notAfter, warnings } = planValidity({
    now: context.now,
    ttl: 0,
    not_after: formatTimestamp(certificate.notAfter),
    role: NO_ROLE,
    mount: context.mount,
    issuer: { not_after: issuer.not_after, behavior: issuer.behavior },
  });
  return {
    certificate: {
      subject: certificate.subject,
      names: NO_NAMES,
      signer: issuer,
      notBefore,
      notAfter,
      key_usage: NONE,
      ext_key_usage: NONE,
      urls: issuer.urls,
      name_constraints: NO_CONSTRAINTS,
      extra_extensions: certificate.extensions.filter(({ oid }) => !ISSUERS_OWN.has(oid)),
      ...keepAlgorithm(certificate.signatureAlgorithm, issuer),
    },
    names: csrNames(certificate),
    warnings,
  };
}

function checkAuthority({ isCa }: Certificate, mode: IssuanceMode, issuer: IssuingFacts): void {
  if (mode !== 'ica') {
    if (isCa) throw invalid('it is that of a CA, which sign-intermediate alone makes');
    return;
  }
  if (!isCa) throw invalid('it is that of no CA: it lacks CA:TRUE in its Basic Constraints');
  if (issuer.path_length === 0) {
    throw invalid(
      'signing certificate has a max path length of zero, and cannot issue further CA certificates',
    );
  }
}

/** @throws Failure `invalid` for what the constraints above forbid, also of whom no name of a host is expected */
function checkNames(certificate: Certificate, mode: IssuanceMode, issuer: IssuingFacts): void {
  const { keyUsage, extensions, subject, subjectAltNames } = certificate;
  const names = csrNames(certificate);
  const unknown = subjectAltNames?.unknown ?? [];
  const common_names = commonNamesOf(certificate);
  const subject_emails = subjectEmailsOf(certificate);
  if (mode === 'ica') {
    const judged = { names, unknown, subject, common_names, subject_emails };
    checkAuthorityNames(issuer, judged, keyUsage);
    return;
  }
  const is_for_servers = isForServers(
    extKeyUsagesOf(findExtension(extensions, EXTENSION_OID.extKeyUsage)),
  );
  const email = [...names.email, ...subject_emails];
  const judged = { ...names, email, subject, unknown, is_for_servers };
  for (const common_name of ['', ...common_names]) {
    checkNameConstraints(issuer, { ...judged, common_name });
  }
}

const extKeyUsagesOf = (extension: Extension | undefined): string[] =>
  extension ? parseExtKeyUsage(extension.value) : [];

const PSS = /PSS$/;
const RSA_BITS = /^SHA(\d+)WithRSA/;

/** The algorithm it names, where the issuer's key may choose. */
function keepAlgorithm(
  named: SignatureAlgorithm | undefined,
  { key }: IssuingFacts,
): { signature_bits: number; use_pss: boolean } {
  if (named === undefined || key.key_type !== 'rsa' || !fitsKey(named, key)) {
    return { signature_bits: 0, use_pss: false };
  }
  return { signature_bits: Number(RSA_BITS.exec(named)?.[1] ?? 0), use_pss: PSS.test(named) };
}
