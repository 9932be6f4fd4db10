import type { z } from 'zod';
import { invalid } from '../../core/failure.ts';
import { flag } from '../../core/fields.ts';
import {
  type BasicConstraints,
  basicConstraints,
  type Extension,
  findExtension,
  subjectAltName,
} from '../../x509/extensions.ts';
import { hasNoNames } from '../../x509/general-names.ts';
import { keyUsage, parseKeyUsage } from '../../x509/key-usages.ts';
import { NAME_CONSTRAINT_FIELDS } from '../../x509/name-constraints.ts';
import { isEmptyName } from '../../x509/names.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import { hexText, keyUsageList, pemText, withoutSeparators } from '../fields/field-kinds.ts';
import { checkSignatureSize } from '../fields/key-parameters.ts';
import { warnOfUnknownUsages } from '../fields/usages.ts';
import type { RequestedNames } from '../roles/name-policy.ts';
import { checkAuthorityNames } from './authority-names.ts';
import {
  type CaNameRequest,
  caIssueFields,
  caKeyFields,
  caNameFields,
  caSignatureFields,
  caSubjectFields,
  MOST_CA_NAMES,
  parseCaNames,
  parsePathLength,
  planCaSubject,
  planCaUsages,
} from './ca-request.ts';
import { commonNamesOf, subjectEmailsOf } from './csr-fields.ts';
import { checkCsrKey, type SignedCsr } from './csr-rules.ts';
import type { IssuingFacts } from './issuing.ts';
import type { CertificatePlan } from './plan.ts';
import { chooseBehavior, NO_ROLE, planValidity } from './validity.ts';
import { copyExtensions, csrNames } from './verbatim.ts';

/** The body of `sign-intermediate`. */
export const intermediateFields = {
  ...caSubjectFields,
  ...caIssueFields,
  csr: pemText('').describe('The request to be signed, PKCS #10 in PEM.'),
  use_csr_values: flag(false).describe(
    'Take subject, alternative names and extensions of the request instead of the parameters.',
  ),
  skid: hexText('').describe(
    'Subject key identifier in hex, for cross-signing; empty: worked out from the key.',
  ),
  enforce_leaf_not_after_behavior: flag(false).describe(
    "Apply the issuer's leaf_not_after_behavior instead of ending with the issuer.",
  ),
};
export type IntermediateRequest = z.output<z.ZodObject<typeof intermediateFields>>;

export interface IntermediatePlan {
  certificate: CertificatePlan;
  /** As they will stand in the certificate. */
  names: RequestedNames;
  warnings: string[];
}

export interface IntermediateContext {
  issuer: IssuingFacts;
  /** Effective lease times of the mount, in seconds. */
  mount: { default_ttl: number; max_ttl: number };
  /** Unix seconds. */
  now: number;
}

/**
 * Decides on the certificate of a CA beneath an issuer. It is one whatever the request
 * says, and it ends with the issuer unless asked otherwise.
 *
 * @throws Failure `invalid` when the issuer may have no CA beneath it, for a weak key, and
 *   for names or an end that the issuer does not allow
 */
export function planIntermediate(
  request: IntermediateRequest,
  signed: SignedCsr,
  context: IntermediateContext,
): IntermediatePlan {
  const { issuer } = context;
  checkCsrKey(signed.key, { key_type: 'any', key_bits: 0 });
  checkSignatureSize(request.signature_bits);
  const { basic_constraints, warnings } = planPathLength(parsePathLength(request), issuer);
  const content = request.use_csr_values ? takeCsrValues(request, signed) : takeParameters(request);
  // Usages that the request of the one signed states take the place of those asked for beside it.
  const usages = planCaUsages(
    { ...request, key_usage: content.key_usage ?? request.key_usage },
    signed.key.key_type,
  );
  const { key_usage, ext_key_usage } = usages;
  checkAuthorityNames(issuer, content, key_usage);
  const validity = planValidity({
    now: context.now,
    ttl: request.ttl,
    not_after: request.not_after,
    role: { ...NO_ROLE, not_before_duration: request.not_before_duration },
    mount: context.mount,
    issuer: {
      not_after: issuer.not_after,
      behavior: chooseBehavior(issuer.behavior, request.enforce_leaf_not_after_behavior),
    },
  });
  const subject_key_id = parseKeyIdentifier(request.skid);
  const certificate: CertificatePlan = {
    subject: content.subject,
    names: content.planned_names,
    signer: issuer,
    notBefore: validity.notBefore,
    notAfter: validity.notAfter,
    key_usage,
    ext_key_usage,
    basic_constraints,
    ...(subject_key_id && { subject_key_id }),
    urls: issuer.urls,
    name_constraints: request,
    extra_extensions: content.extensions,
    signature_bits: request.signature_bits,
    use_pss: request.use_pss,
  };
  return {
    certificate,
    names: content.names,
    warnings: [...warnings, ...validity.warnings, ...content.warnings, ...usages.warnings],
  };
}

/** One less than the issuer's, unless fewer are asked for. @see RFC 5280 §4.2.1.9 */
function planPathLength(
  wanted: number | undefined,
  issuer: IssuingFacts,
): { basic_constraints: BasicConstraints; warnings: string[] } {
  if (issuer.path_length === undefined) {
    return {
      basic_constraints: wanted === undefined ? { ca: true } : { ca: true, pathLength: wanted },
      warnings: [],
    };
  }
  if (issuer.path_length === 0) {
    throw invalid(
      'signing certificate has a max path length of zero, and cannot issue further CA certificates',
    );
  }
  const most = issuer.path_length - 1;
  return {
    basic_constraints: { ca: true, pathLength: Math.min(wanted ?? most, most) },
    warnings:
      wanted !== undefined && wanted > most
        ? [`max_path_length ${wanted} is more than the issuer can grant, so ${most} is used`]
        : [],
  };
}

interface Content {
  subject: Uint8Array;
  names: RequestedNames;
  common_names: readonly string[];
  subject_emails: readonly string[];
  /** Alternative names that are not taken apart. */
  unknown: readonly Uint8Array[];
  /** Those that are not in `extensions` already. */
  planned_names: CertificatePlan['names'];
  /** Undefined where it says nothing about them. */
  key_usage?: string[] | undefined;
  extensions: Extension[];
  warnings: string[];
}

function takeParameters(request: CaNameRequest): Content {
  const { subject, warnings } = planCaSubject(request);
  const sans = parseCaNames(request, 'an intermediate');
  const { common_name, serial_number } = request;
  return {
    subject,
    names: { ...sans, common_name, serial_number, user_ids: [] },
    common_names: [common_name],
    subject_emails: [],
    unknown: [],
    planned_names: sans,
    extensions: [],
    warnings,
  };
}

/** Extensions that say what the issuer has to say, whatever the request has instead. */
const ISSUERS_OWN = new Set<string>([
  EXTENSION_OID.keyUsage,
  EXTENSION_OID.authorityKeyIdentifier,
  EXTENSION_OID.authorityInfoAccess,
  EXTENSION_OID.cRLDistributionPoints,
  EXTENSION_OID.freshestCRL,
]);

function takeCsrValues(request: IntermediateRequest, { csr }: SignedCsr): Content {
  if (isEmptyName(csr.subject)) {
    throw invalid('the CSR has no subject, and an authority needs one', {
      fields: { csr: 'a request with a subject' },
    });
  }
  const names = csrNames(csr);
  requireFewNames(names, csr.subjectAltNames?.unknown ?? []);
  const usage = findExtension(csr.extensions, EXTENSION_OID.keyUsage);
  // Constraints of the one who signs are never given up for what the one signed would like.
  const constrained = NAME_CONSTRAINT_FIELDS.some((field) => request[field].length > 0);
  const extensions = copyExtensions(csr, csr.subject).filter(
    ({ oid }) =>
      !ISSUERS_OWN.has(oid) &&
      !(oid === EXTENSION_OID.nameConstraints && constrained) &&
      !(oid === EXTENSION_OID.subjectKeyIdentifier && request.skid !== ''),
  );
  return {
    subject: csr.subject,
    names,
    common_names: commonNamesOf(csr),
    subject_emails: subjectEmailsOf(csr),
    unknown: csr.subjectAltNames?.unknown ?? [],
    planned_names: { dns: [], email: [], ip: [], uri: [], other: [] },
    key_usage: usage && parseKeyUsage(usage.value),
    extensions,
    warnings: [],
  };
}

function requireFewNames(names: RequestedNames, unknown: readonly Uint8Array[]): void {
  const { dns, email, ip, uri, other } = names;
  const count = [dns, email, ip, uri, other, unknown].reduce((sum, { length }) => sum + length, 0);
  if (count <= MOST_CA_NAMES) return;
  throw invalid(
    `the CSR has ${count} names, at most ${MOST_CA_NAMES} of an intermediate are accepted`,
    {
      fields: { csr: `at most ${MOST_CA_NAMES} alternative names` },
    },
  );
}

/** @throws Failure `invalid` */
function parseKeyIdentifier(text: string): Uint8Array | undefined {
  const hex = withoutSeparators(text);
  if (hex === '') return undefined;
  if (!/^(?:[0-9a-f]{2}){1,64}$/.test(hex)) {
    throw invalid('skid is not a key identifier in hex', {
      fields: { skid: 'up to 64 bytes in hex, with or without ":" between them' },
    });
  }
  return Buffer.from(hex, 'hex');
}

/** The body of `intermediate/generate/:exported`. */
export const intermediateCsrFields = {
  ...caNameFields,
  ...caKeyFields,
  ...caSignatureFields,
  key_usage: keyUsageList([]).describe('Key usages to ask for; none: the request says nothing.'),
  add_basic_constraints: flag(false).describe('Ask for CA:TRUE in the request itself.'),
};
export type IntermediateCsrRequest = z.output<z.ZodObject<typeof intermediateCsrFields>>;

export interface IntermediateCsrPlan {
  /** DER of the Name. */
  subject: Uint8Array;
  extensions: Extension[];
  warnings: string[];
}

/**
 * Decides on a request for the certificate of a CA.
 *
 * @throws Failure `invalid` without a subject and for names that are none
 * @see RFC 2986 §4.1
 */
export function planIntermediateCsr(request: IntermediateCsrRequest): IntermediateCsrPlan {
  const { subject, warnings } = planCaSubject(request);
  const names = parseCaNames(request, 'an intermediate');
  const extensions = [
    keyUsage(request.key_usage),
    request.add_basic_constraints ? basicConstraints({ ca: true }) : undefined,
    hasNoNames(names) ? undefined : subjectAltName(names, false),
  ].filter((extension) => extension !== undefined);
  const unknown = warnOfUnknownUsages({ key_usage: request.key_usage, ext_key_usage: [] });
  return { subject, extensions, warnings: [...warnings, ...unknown] };
}
