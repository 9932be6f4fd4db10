import { invalid } from '../../core/failure.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import type { BasicConstraints } from '../../x509/extensions.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import { encodeSubject } from '../../x509/names.ts';
import { KEY_TYPES } from '../fields/key-field-kinds.ts';
import { resolveKeyParameters } from '../fields/key-parameters.ts';
import { chooseExtKeyUsages, fitKeyUsages, isForServers } from '../fields/usages.ts';
import { judgeNames, type RequestedNames } from '../roles/name-policy.ts';
import { encodePolicyIdentifiers } from '../roles/policy-identifiers.ts';
import type { Role } from '../roles/role.ts';
import {
  checkCsrKey,
  findCsrBasicConstraints,
  IGNORED_BASIC_CONSTRAINTS,
  type SignedCsr,
} from './csr-rules.ts';
import { checkNameConstraints, type IssuingFacts } from './issuing.ts';
import { type CollectedNames, collectCsrNames, collectNames } from './names.ts';
import type { CertificatePlan } from './plan.ts';
import type { IssueRequest, SignRequest } from './request.ts';
import { planRoleExtensions } from './role-extensions.ts';
import { planValidity } from './validity.ts';

/** What a certificate depends on besides role and request. */
export interface LeafContext {
  issuer: IssuingFacts;
  /** Effective lease times of the mount, in seconds. */
  mount: { default_ttl: number; max_ttl: number };
  /** Unix seconds. */
  now: number;
  /** Unix seconds; see `ValidityRequest`. */
  latest?: number | undefined;
  /** Of the caller, for templates; absent for a token without entity. */
  identity?: IdentityFacts | undefined;
}

export interface LeafPlan {
  certificate: CertificatePlan;
  /** As they will stand in the certificate. */
  names: RequestedNames;
  /** `cert_metadata`, decoded; absent when none was sent. */
  metadata?: Uint8Array;
  /** Of a CSR that is taken as it is: the fields that its content could be sent by; each may say one otherwise. */
  brought?: readonly Readonly<Record<string, string | string[]>>[];
  warnings: string[];
}

/**
 * Decides on a certificate whose key is yet to be made.
 *
 * @returns the plan, and the kind of key to make
 * @throws Failure `invalid` for everything role, mount and issuer do not allow
 */
export function planIssue(
  role: Role,
  request: IssueRequest,
  context: LeafContext,
): LeafPlan & { key: KeyDescription } {
  const { key, warnings } = chooseKey(role, request);
  const plan = withUsagesOf(key, planLeaf(role, request, context, collectNames(request, role)));
  return { ...plan, key, warnings: [...plan.warnings, ...warnings] };
}

/**
 * Decides on a certificate for a request's key, its names taken as the role has it.
 *
 * @throws Failure `invalid` for everything role, mount and issuer do not allow
 */
export function planSign(
  role: Role,
  request: SignRequest,
  { csr, key }: SignedCsr,
  context: LeafContext,
): LeafPlan {
  checkCsrKey(key, role);
  const plan = withUsagesOf(
    key,
    planLeaf(role, request, context, collectCsrNames(request, csr, role)),
  );
  if (findCsrBasicConstraints(csr)) plan.warnings.push(IGNORED_BASIC_CONSTRAINTS);
  return plan;
}

/** Without the key usages that the key cannot have. */
export function withUsagesOf({ key_type }: KeyDescription, plan: LeafPlan): LeafPlan {
  const { certificate } = plan;
  const { key_usage, warnings } = fitKeyUsages(key_type, certificate.key_usage);
  if (key_usage === certificate.key_usage) return plan;
  return {
    ...plan,
    certificate: { ...certificate, key_usage },
    warnings: [...plan.warnings, ...warnings],
  };
}

/** Cached by the role, which is the same object until configuration changes. */
const extKeyUsagesOf = memoizeWeak(chooseExtKeyUsages);
const policiesOf = memoizeWeak(({ policy_identifiers }: Role) =>
  encodePolicyIdentifiers(policy_identifiers),
);

function planLeaf(
  role: Role,
  request: IssueRequest | SignRequest,
  context: LeafContext,
  { names, source, warnings }: CollectedNames,
): LeafPlan {
  const { issuer } = context;
  const verdict = judgeNames(role, names, context.identity, source);
  if (!verdict.allowed) throw invalid(verdict.because);
  const ext_key_usage = extKeyUsagesOf(role);
  const subject = encodeLeafSubject(role, names);
  checkNameConstraints(issuer, { ...names, subject, is_for_servers: isForServers(ext_key_usage) });
  const validity = planValidity({
    now: context.now,
    ttl: request.ttl,
    not_after: request.not_after,
    not_before: request.not_before,
    role,
    mount: context.mount,
    issuer: { not_after: issuer.not_after, behavior: issuer.behavior },
    latest: context.latest,
  });
  const metadata = parseMetadata(request.cert_metadata, role);
  const certificate: CertificatePlan = {
    subject,
    names,
    signer: issuer,
    notBefore: validity.notBefore,
    notAfter: validity.notAfter,
    key_usage: role.key_usage,
    ext_key_usage,
    ...planLeafConstraints(role.basic_constraints_valid_for_non_ca),
    urls: issuer.urls,
    certificate_policies: policiesOf(role),
    name_constraints: {},
    extra_extensions: planRoleExtensions(role, request),
    signature_bits: role.signature_bits,
    use_pss: role.use_pss,
  };
  return {
    certificate,
    names,
    ...(metadata && { metadata }),
    warnings: [...warnings, ...validity.warnings],
  };
}

function encodeLeafSubject(role: Role, names: RequestedNames): Uint8Array {
  return encodeSubject({
    country: role.country,
    organization: role.organization,
    ou: role.ou,
    locality: role.locality,
    province: role.province,
    street_address: role.street_address,
    postal_code: role.postal_code,
    common_name: names.common_name,
    serial_number: names.serial_number,
    user_ids: names.user_ids,
  });
}

/** A leaf says that it is no CA only where that is asked for. @see P-64 */
export function planLeafConstraints(stated: boolean): { basic_constraints?: BasicConstraints } {
  return stated ? { basic_constraints: { ca: false } } : {};
}

/** @see P-56 */
function chooseKey(role: Role, request: IssueRequest): { key: KeyDescription; warnings: string[] } {
  if (role.key_type === 'any') {
    if (request.key_type === undefined) {
      throw invalid(
        'role key type "any" not allowed for issuing certificates, only signing; or send key_type',
        { fields: { key_type: KEY_TYPES.join(', ') } },
      );
    }
    const { key_type, key_bits } = request;
    const resolved = resolveKeyParameters({ key_type, key_bits, signature_bits: 0 });
    return { key: describeKey(key_type, resolved.key_bits), warnings: [] };
  }
  const ignored = request.key_type !== undefined || request.key_bits !== 0;
  return {
    key: describeKey(role.key_type, role.key_bits),
    warnings: ignored
      ? ['parameters key_type and key_bits ignored as role had specific values']
      : [],
  };
}

function describeKey(key_type: KeyDescription['key_type'], key_bits: number): KeyDescription {
  return { key_type, key_bits: key_type === 'ed25519' ? 0 : key_bits };
}

/** Bytes that are kept with one certificate at the most. */
export const MAX_METADATA = 65_535;

/**
 * Reads `cert_metadata`.
 *
 * @param role undefined where none was named
 * @throws Failure `invalid` where it is sent and nothing may be kept, or it is no base64 or too long
 * @see P-62
 */
export function parseMetadata(
  text: string,
  role: Pick<Role, 'no_store_metadata'> | undefined,
): Uint8Array | undefined {
  if (text === '') return undefined;
  if (!role || role.no_store_metadata) {
    const because = role ? 'the role has no_store_metadata' : 'it needs a role';
    throw invalid(`cert_metadata cannot be kept: ${because}`, {
      fields: { cert_metadata: because },
    });
  }
  if (text.length > (4 * MAX_METADATA) / 3) {
    throw invalid(`cert_metadata is too long: at most ${MAX_METADATA} bytes are kept`, {
      fields: { cert_metadata: `at most ${MAX_METADATA} bytes` },
    });
  }
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) {
    throw invalid('cert_metadata is not base64', {
      fields: { cert_metadata: 'standard base64 with padding' },
    });
  }
  return Buffer.from(text, 'base64');
}
