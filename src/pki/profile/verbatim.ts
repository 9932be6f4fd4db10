import { invalid } from '../../core/failure.ts';
import type { Csr } from '../../x509/csr.ts';
import type { Extension } from '../../x509/extensions.ts';
import { extendName, isEmptyName } from '../../x509/names.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import { checkSignatureSize } from '../fields/key-parameters.ts';
import { chooseExtKeyUsages, isForServers } from '../fields/usages.ts';
import type { RequestedNames } from '../roles/name-policy.ts';
import type { Role } from '../roles/role.ts';
import { commonNamesOf, fieldsOfWholeCsr, subjectEmailsOf } from './csr-fields.ts';
import {
  checkCsrKey,
  findCsrBasicConstraints,
  IGNORED_BASIC_CONSTRAINTS,
  type SignedCsr,
} from './csr-rules.ts';
import { checkNameConstraints } from './issuing.ts';
import {
  type LeafContext,
  type LeafPlan,
  parseMetadata,
  planLeafConstraints,
  withUsagesOf,
} from './leaf.ts';
import type { CertificatePlan } from './plan.ts';
import type { VerbatimRequest } from './request.ts';
import { chooseBehavior, NO_ROLE, planValidity } from './validity.ts';

/** What a role contributes on this path; its rules for names do not apply. */
export type VerbatimRole = Pick<
  Role,
  | 'ttl'
  | 'max_ttl'
  | 'not_before_duration'
  | 'not_before_bound'
  | 'not_after_bound'
  | 'no_store_metadata'
  | 'basic_constraints_valid_for_non_ca'
>;

const NO_FLAGS = {
  server_flag: false,
  client_flag: false,
  code_signing_flag: false,
  email_protection_flag: false,
};

/** Fields that policies may have conditions on; names come from the CSR alone. */
const UNUSED = [
  'common_name',
  'alt_names',
  'ip_sans',
  'uri_sans',
  'other_sans',
  'serial_number',
] as const;

const NO_NAMES = { dns: [], email: [], ip: [], uri: [], other: [] };

/**
 * Decides on a certificate that says what the CSR says: subject, names and extensions, whatever
 * they are, except that its subject is never a CA.
 *
 * @param role undefined where none was named
 * @throws Failure `invalid` for a request that asks for a CA, for a weak key, and for
 *   what the issuer does not allow
 */
export function planVerbatim(
  role: VerbatimRole | undefined,
  request: VerbatimRequest,
  { csr, key }: SignedCsr,
  context: LeafContext,
): LeafPlan {
  const warnings = UNUSED.filter((field) => request[field].length > 0).map(
    (field) => `the ${field} field was provided but the request is signed as it is`,
  );
  checkCsrKey(key, { key_type: 'any', key_bits: 0 });
  checkSignatureSize(request.signature_bits);
  const constraints = findCsrBasicConstraints(csr);
  if (constraints?.ca) {
    throw invalid(
      'the CSR asks for a CA certificate, which is not signed verbatim; sign-intermediate does it',
      { fields: { csr: 'a request without CA:TRUE in its Basic Constraints' } },
    );
  }
  if (constraints) warnings.push(IGNORED_BASIC_CONSTRAINTS);
  const { issuer } = context;
  const names = csrNames(csr, request.user_ids);
  const ext_key_usage = chooseExtKeyUsages({ ...NO_FLAGS, ...request });
  const is_for_servers = isForServers(ext_key_usage);
  const unknown = csr.subjectAltNames?.unknown ?? [];
  const common_names = commonNamesOf(csr);
  const email = [...names.email, ...subjectEmailsOf(csr)];
  const subject = withUserIds(csr, request.user_ids);
  const judged = { ...names, email, subject, unknown, is_for_servers };
  for (const common_name of ['', ...common_names]) {
    checkNameConstraints(issuer, { ...judged, common_name });
  }
  const validity = planValidity({
    now: context.now,
    ttl: request.ttl,
    not_after: request.not_after,
    not_before: request.not_before,
    role: { ...NO_ROLE, ...role, not_after: '', not_before: '' },
    mount: context.mount,
    issuer: {
      not_after: issuer.not_after,
      behavior: chooseBehavior(issuer.behavior, request.enforce_leaf_not_after_behavior),
    },
  });
  const metadata = parseMetadata(request.cert_metadata, role);
  const certificate: CertificatePlan = {
    subject,
    // The names are copied with the extension that holds them.
    names: NO_NAMES,
    signer: issuer,
    notBefore: validity.notBefore,
    notAfter: validity.notAfter,
    key_usage: request.key_usage,
    ext_key_usage,
    ...planLeafConstraints(
      request.basic_constraints_valid_for_non_ca ??
        role?.basic_constraints_valid_for_non_ca ??
        false,
    ),
    urls: issuer.urls,
    name_constraints: {},
    extra_extensions: copyExtensions(csr, subject),
    signature_bits: request.signature_bits,
    use_pss: request.use_pss,
  };
  return withUsagesOf(key, {
    certificate,
    names,
    ...(metadata && { metadata }),
    brought: fieldsOfWholeCsr(csr, csrNames(csr), common_names),
    warnings: [...warnings, ...validity.warnings],
  });
}

/** The names a request, or a certificate, states, for judging and finding. */
export function csrNames(
  csr: Pick<Csr, 'subjectName' | 'subjectAltNames'>,
  user_ids: readonly string[] = [],
): RequestedNames {
  const { fields } = csr.subjectName;
  const { dns, email, ip, uri, other } = csr.subjectAltNames ?? NO_NAMES;
  return {
    common_name: fields.common_name ?? '',
    serial_number: fields.serial_number ?? '',
    user_ids: [...new Set([...fields.user_ids, ...user_ids])],
    dns,
    email,
    ip,
    uri,
    other,
  };
}

/**
 * The extensions a request asks for, without Basic Constraints.
 *
 * @param subject DER of the Name they will stand beside
 */
export function copyExtensions(csr: Csr, subject: Uint8Array): Extension[] {
  return csr.extensions
    .filter(({ oid: type }) => type !== EXTENSION_OID.basicConstraints)
    .map((extension) =>
      // RFC 5280 §4.1.2.6: the only names there are must be understood.
      extension.oid === EXTENSION_OID.subjectAltName && isEmptyName(subject)
        ? { ...extension, critical: true }
        : extension,
    );
}

/** The request's subject byte for byte, with those user ids at its end that it does not have. */
function withUserIds(csr: Csr, user_ids: readonly string[]): Uint8Array {
  const present = new Set(csr.subjectName.fields.user_ids);
  const missing = user_ids.filter((id) => id !== '' && !present.has(id));
  if (missing.length === 0) return csr.subject;
  return extendName(csr.subject, { user_ids: missing });
}
