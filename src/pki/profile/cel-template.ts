import { z } from 'zod';
import type { Extension } from '../../x509/extensions.ts';
import { KEY_TYPES } from '../fields/key-field-kinds.ts';
import { resolveKeyParameters } from '../fields/key-parameters.ts';
import { type Role, roleSchema } from '../roles/role.ts';
import {
  readAddress,
  readAs,
  readBeginning,
  readEnd,
  readExtensions,
  readExtKeyUsage,
  readKeyId,
  readKeyUsage,
  readNames,
  readUri,
  refuse,
} from './cel-values.ts';
import type { LeafPlan } from './leaf.ts';
import { type IssueRequest, issueSchema } from './request.ts';

const texts = z.array(z.string()).default([]);
const bytes = z.base64().transform((text) => new Uint8Array(Buffer.from(text, 'base64')));
/** Whole numbers of 64 bits are texts. */
const whole = z.union([z.number(), z.string().transform(Number)]);
const arcs = z.object({ arc: z.array(whole).default([]) }).transform(({ arc }) => arc.join('.'));
const usage = z.union([z.string(), z.number()]);

const subjectSchema = z.strictObject({
  Country: texts,
  Organization: texts,
  OrganizationUnit: texts,
  Locality: texts,
  Province: texts,
  StreetAddress: texts,
  PostalCode: texts,
  SerialNumber: z.string().default(''),
  CommonName: z.string().default(''),
});

const templateSchema = z.object({
  Subject: subjectSchema.prefault({}),
  NotBefore: z.string().default(''),
  NotAfter: z.string().default(''),
  KeyUsage: usage.default(0),
  ExtKeyUsage: z.array(usage).default([]),
  UnknownExtKeyUsage: z.array(arcs).default([]),
  ExtraExtensions: z
    .array(
      z.object({
        Id: z.array(whole).default([]),
        Critical: z.boolean().default(false),
        Value: bytes.default(new Uint8Array()),
      }),
    )
    .default([]),
  BasicConstraintsValid: z.boolean().default(false),
  SubjectKeyId: bytes.optional(),
  DNSNames: texts,
  EmailAddresses: texts,
  IPAddresses: z.array(z.object({ IP: bytes.default(new Uint8Array()) })).default([]),
  URIs: z.array(z.record(z.string(), z.unknown())).default([]),
  PolicyIdentifiers: z.array(arcs).default([]),
  Policies: z.array(arcs).default([]),
});

const outputSchema = z.object({
  template: z.record(z.string(), z.unknown()).optional(),
  issuer_ref: z.string().default(''),
  use_pss: z.boolean().default(false),
  signature_bits: whole.default(0),
  generate_lease: z.boolean().default(false),
  no_store: z.boolean().default(false),
  warnings: texts,
  subject_key_id: bytes.optional(),
  key_type: z.string().default(''),
  key_bits: whole.default(0),
});

/** Fields that say something in certificates of CAs alone, or that are not written here. */
const OF_CAS: ReadonlySet<string> = new Set([
  'IsCA',
  'MaxPathLen',
  'MaxPathLenZero',
  'PermittedDNSDomainsCritical',
  'PermittedDNSDomains',
  'ExcludedDNSDomains',
  'PermittedIPRanges',
  'ExcludedIPRanges',
  'PermittedEmailAddresses',
  'ExcludedEmailAddresses',
  'PermittedURIDomains',
  'ExcludedURIDomains',
  'InhibitAnyPolicy',
  'InhibitAnyPolicyZero',
  'InhibitPolicyMapping',
  'InhibitPolicyMappingZero',
  'RequireExplicitPolicy',
  'RequireExplicitPolicyZero',
  'PolicyMappings',
]);

/** What a program has described, as a role that allows just that and a request that asks for it. */
export interface Described {
  /** Empty: the mount's default. */
  issuer_ref: string;
  role: Role;
  request: IssueRequest;
  /** What neither of the two can say. */
  rest: {
    subject_key_id: Uint8Array | undefined;
    extensions: Extension[];
    warnings: string[];
  };
}

/** Everything is allowed that is well-formed: the program has decided on it. */
const ALLOWING = {
  allow_any_name: true,
  allow_wildcard_certificates: true,
  allowed_uri_sans: ['*'],
  allowed_other_sans: ['*'],
  allowed_serial_numbers: ['*'],
  allowed_user_ids: ['*'],
  cn_validations: ['disabled'],
  require_cn: false,
  use_csr_common_name: false,
  use_csr_sans: false,
  serial_number_source: 'json',
  server_flag: false,
  client_flag: false,
} as const;

/**
 * Reads what a program came to.
 *
 * @param output a ValidationOutput in protobuf's form of JSON
 * @param now Unix seconds
 * @param isForCsr the key is brought: `key_type` and `key_bits` are what it has to have
 * @throws Failure `invalid` naming the field that cannot be
 */
export function readDescribed(
  output: unknown,
  { now, isForCsr }: { now: number; isForCsr: boolean },
): Described {
  const given = readAs(outputSchema, output, '');
  if (!given.template) throw refuse('template', 'a CertTemplate is required');
  const stated = Object.keys(given.template).find((name) => OF_CAS.has(name));
  if (stated !== undefined) {
    throw refuse(
      `template.${stated}`,
      'cel roles make certificates of leaves, which do not have it',
    );
  }
  const template = readAs(templateSchema, given.template, 'template');
  const { Subject: subject } = template;
  const role: Role = {
    ...roleSchema.parse(ALLOWING),
    ...readKeyRules(given, isForCsr),
    use_pss: given.use_pss,
    generate_lease: given.generate_lease && !given.no_store,
    no_store: given.no_store,
    country: subject.Country,
    organization: subject.Organization,
    ou: subject.OrganizationUnit,
    locality: subject.Locality,
    province: subject.Province,
    street_address: subject.StreetAddress,
    postal_code: subject.PostalCode,
    key_usage: readKeyUsage(template.KeyUsage),
    ext_key_usage: template.ExtKeyUsage.map(readExtKeyUsage),
    ext_key_usage_oids: template.UnknownExtKeyUsage,
    policy_identifiers: [...new Set([...template.PolicyIdentifiers, ...template.Policies])],
    basic_constraints_valid_for_non_ca: template.BasicConstraintsValid,
  };
  const request: IssueRequest = {
    ...issueSchema.parse({}),
    common_name: subject.CommonName,
    serial_number: subject.SerialNumber,
    alt_names: readNames(template),
    ip_sans: template.IPAddresses.map(({ IP }, at) => readAddress(IP, at)),
    uri_sans: template.URIs.map(readUri),
    exclude_cn_from_sans: true,
    ttl: readEnd(template.NotAfter, now),
    not_before: readBeginning(template.NotBefore),
  };
  const rest = {
    subject_key_id: readKeyId(given.subject_key_id ?? template.SubjectKeyId),
    extensions: readExtensions(template.ExtraExtensions),
    warnings: given.warnings,
  };
  return { issuer_ref: given.issuer_ref, role, request, rest };
}

/** The plan with what a role and a request cannot say. */
export function withRest(plan: LeafPlan, { rest }: Described): LeafPlan {
  const { subject_key_id, extensions, warnings } = rest;
  return {
    ...plan,
    certificate: {
      ...plan.certificate,
      ...(subject_key_id && { subject_key_id }),
      extra_extensions: [...plan.certificate.extra_extensions, ...extensions],
    },
    warnings: [...warnings, ...plan.warnings],
  };
}

function readKeyRules(
  given: z.output<typeof outputSchema>,
  isForCsr: boolean,
): Pick<Role, 'key_type' | 'key_bits' | 'signature_bits'> {
  const { key_type: named, key_bits, signature_bits } = given;
  const isOpen = isForCsr && named === '';
  const key_type = isOpen ? 'any' : KEY_TYPES.find((one) => one === (named || 'rsa'));
  if (!key_type) throw refuse('key_type', `one of ${KEY_TYPES.join(', ')}`);
  return { ...resolveKeyParameters({ key_type, key_bits, signature_bits }), key_type };
}
