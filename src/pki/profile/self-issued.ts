import { z } from 'zod';
import { invalid } from '../../core/failure.ts';
import { flag } from '../../core/fields.ts';
import { parsePem } from '../../core/pem.ts';
import { formatTimestamp } from '../../core/timestamps.ts';
import { type Certificate, isSelfIssued, parseCertificate } from '../../x509/certificate.ts';
import { DerError } from '../../x509/der-reader.ts';
import { describePublicKey, type KeyDescription } from '../../x509/keys.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import { pemText } from '../fields/field-kinds.ts';
import { checkAuthorityNames } from './authority-names.ts';
import { CA_KEY_USAGES } from './ca-request.ts';
import { commonNamesOf, subjectEmailsOf } from './csr-fields.ts';
import { checkCsrKey } from './csr-rules.ts';
import type { IssuingFacts } from './issuing.ts';
import type { CertificatePlan } from './plan.ts';

/** The body of `sign-self-issued`. */
export const selfIssuedFields = {
  certificate: pemText('').describe('The certificate to be signed, PEM.'),
  require_matching_certificate_algorithms: flag(false).describe(
    'Refuse a certificate whose key is of another type than that of the issuer.',
  ),
};
const selfIssuedSchema = z.object(selfIssuedFields);
export type SelfIssuedRequest = z.output<typeof selfIssuedSchema>;

export interface SelfIssuedPlan {
  certificate: CertificatePlan;
  /** DER. */
  subjectPublicKeyInfo: Uint8Array;
  key: KeyDescription;
  /** Big-endian magnitude: that of the certificate given. */
  serialNumber: Uint8Array;
  warnings: string[];
}

/** Extensions that say something about the subject, whoever signs; the others are the signer's, or mean nothing here. */
const KEPT = new Set<string>([
  EXTENSION_OID.keyUsage,
  EXTENSION_OID.extKeyUsage,
  EXTENSION_OID.basicConstraints,
  EXTENSION_OID.subjectKeyIdentifier,
  EXTENSION_OID.subjectAltName,
  EXTENSION_OID.certificatePolicies,
  EXTENSION_OID.nameConstraints,
  // These only ever take away from what may follow, so that leaving them out would give it back.
  EXTENSION_OID.policyMappings,
  EXTENSION_OID.policyConstraints,
  EXTENSION_OID.inhibitAnyPolicy,
]);
const SIGNERS = new Set<string>([
  EXTENSION_OID.authorityKeyIdentifier,
  EXTENSION_OID.authorityInfoAccess,
  EXTENSION_OID.cRLDistributionPoints,
  EXTENSION_OID.freshestCRL,
  EXTENSION_OID.issuerAltName,
]);

const NO_NAMES = { dns: [], email: [], ip: [], uri: [], other: [] };

/**
 * Decides on a certificate like the given one, of another issuer: what remains is its subject, key, serial number,
 * validity and what it says about them.
 *
 * @throws Failure `invalid` for what is no self-issued certificate of a CA, for a weak key, and for what no verifier
 *   would accept beneath the issuer
 */
export function planSelfIssued(request: SelfIssuedRequest, issuer: IssuingFacts): SelfIssuedPlan {
  const given = readSelfIssued(request.certificate);
  const key = describePublicKey(given.subjectPublicKeyInfo);
  checkCsrKey(key, { key_type: 'any', key_bits: 0 });
  if (request.require_matching_certificate_algorithms && key.key_type !== issuer.key.key_type) {
    throw invalid(
      `signing certificate's public key algorithm (${issuer.key.key_type}) does not match submitted certificate's (${key.key_type}), and require_matching_certificate_algorithms is true`,
    );
  }
  if (issuer.path_length === 0) {
    throw invalid(
      'signing certificate has a max path length of zero, and cannot issue further CA certificates',
    );
  }
  const { unknown = [], ...names } = given.subjectAltNames ?? NO_NAMES_AT_ALL;
  const { pathLength, subject } = given;
  // RFC 5280 §4.2.1.3: they have to be there; old authorities have none.
  const key_usage = given.keyUsage ?? CA_KEY_USAGES;
  const [common_names, subject_emails] = [commonNamesOf(given), subjectEmailsOf(given)];
  checkAuthorityNames(issuer, { names, unknown, subject, common_names, subject_emails }, key_usage);
  const certificate: CertificatePlan = {
    subject,
    // They are copied with the extension that holds them.
    names: NO_NAMES,
    signer: issuer,
    notBefore: given.notBefore,
    notAfter: given.notAfter,
    key_usage,
    ext_key_usage: [],
    basic_constraints: pathLength === undefined ? { ca: true } : { ca: true, pathLength },
    urls: issuer.urls,
    name_constraints: {},
    extra_extensions: given.extensions.filter(({ oid }) => KEPT.has(oid)),
    ...readSignatureSize(given),
  };
  return {
    certificate,
    subjectPublicKeyInfo: given.subjectPublicKeyInfo,
    key,
    serialNumber: given.serialNumber,
    warnings: warn(given, issuer),
  };
}

const NO_NAMES_AT_ALL = { ...NO_NAMES, unknown: [] };

/** @throws Failure `invalid` */
function readSelfIssued(text: string): Certificate {
  const certificate = readCertificate(text);
  if (!certificate.isCa) throw refuse('given certificate is not a CA certificate');
  if (!isSelfIssued(certificate)) throw refuse('given certificate is not self-issued');
  return certificate;
}

function readCertificate(text: string): Certificate {
  let der: Uint8Array | undefined;
  let count = 0;
  try {
    const blocks = parsePem(text).filter(({ label }) => label === 'CERTIFICATE');
    count = blocks.length;
    der = blocks[0]?.der;
  } catch {
    // What is told of it is the same.
  }
  if (!der) throw refuse('certificate could not be PEM-decoded');
  if (count > 1) throw refuse(`${count} certificates found in PEM file, expected 1`);
  try {
    return parseCertificate(der);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw refuse(`error parsing certificate: ${error.message}`);
  }
}

const refuse = (because: string) =>
  invalid(because, { fields: { certificate: 'one self-issued certificate of a CA, in PEM' } });

/** As the given one was signed, where both keys are RSA keys. */
function readSignatureSize({ signatureAlgorithm }: Certificate) {
  const [, bits = '0', pss] = /^SHA(\d+)WithRSA(PSS)?$/.exec(signatureAlgorithm ?? '') ?? [];
  return { signature_bits: Number(bits), use_pss: pss !== undefined };
}

function warn(given: Certificate, issuer: IssuingFacts): string[] {
  const warnings: string[] = [];
  const dropped = given.extensions
    .map(({ oid }) => oid)
    .filter((oid) => !KEPT.has(oid) && !SIGNERS.has(oid));
  if (dropped.length > 0) {
    const told = dropped.slice(0, 8).join(', ');
    warnings.push(`extensions that are not known were left out of the certificate: ${told}`);
  }
  if (given.notAfter > issuer.not_after) {
    warnings.push(
      `the certificate ends after its CA, whose end is at ${formatTimestamp(issuer.not_after)}: verifiers refuse it from then on`,
    );
  }
  if (given.keyUsage === undefined) {
    warnings.push(
      'the certificate given has no key usage: the one signed has CertSign and CRLSign, as it must',
    );
  }
  return warnings;
}
