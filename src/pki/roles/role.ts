import { z } from 'zod';
import { blockList } from '../../access/tokens/field-kinds.ts';
import { asSet, comparedBy, eachText } from '../../core/comparison.ts';
import { choice, duration, flag, list, shortList, text, timestampText } from '../../core/fields.ts';
import { patchOf } from '../../core/patches.ts';
import { formatTimestamp, parseTimestamp } from '../../core/timestamps.ts';
import {
  backdating,
  domainList,
  extKeyUsageList,
  foldedList,
  keyUsageList,
  otherSanList,
} from '../fields/field-kinds.ts';
import { KEY_TYPES, keySize, referenceText, signatureSize } from '../fields/key-field-kinds.ts';
import { USUAL_KEY_USAGES } from '../fields/usages.ts';
import { policyIdentifierList } from './policy-identifiers.ts';

/** None stands for both; their order and case say nothing. */
const commonNameKinds = comparedBy(list, {
  form: asSet((kind) => kind.toLowerCase(), ['email', 'hostname']),
});

/** A word, or a timestamp that is compared by the time it is; none is `permit`. */
const timeBound = comparedBy(text, {
  form: eachText((bound) => {
    const last = parseTimestamp(bound);
    return last === undefined ? bound || 'permit' : formatTimestamp(last);
  }),
});

/** What a role of this mount lets its users ask for. */
export const roleFields = {
  issuer_ref: referenceText('default').describe(
    'Issuer that signs for this role: "default", a name or an id. Kept as given and looked up at each use.',
  ),
  ttl: duration(0).describe('Validity when a request names none. Seconds; 0: the mount default.'),
  max_ttl: duration(0).describe('Longest validity that is granted. Seconds; 0: the mount maximum.'),
  allow_localhost: flag(true).describe('Permit the names "localhost" and "localdomain".'),
  allowed_domains: domainList([]).describe('Domains that the rules below refer to.'),
  allowed_domains_template: flag(false).describe(
    'Fill in identity templates, such as {{identity.entity.name}}, in allowed_domains.',
  ),
  allow_bare_domains: flag(false).describe('Permit the listed domains themselves.'),
  allow_subdomains: flag(false).describe(
    'Permit every name beneath a listed domain, wildcards included.',
  ),
  allow_glob_domains: flag(false).describe(
    'Let "*" in a listed domain stand for any text, dots included.',
  ),
  allow_wildcard_certificates: flag(true).describe(
    'Permit names with a "*" in their first label, where another rule admits them.',
  ),
  allow_any_name: flag(false).describe(
    'Permit every name; host name syntax and the wildcard rule still apply.',
  ),
  enforce_hostnames: flag(true).describe(
    'Refuse names, and host parts of e-mail addresses, that are not host names.',
  ),
  allow_ip_sans: flag(true).describe('Permit IP addresses as alternative names.'),
  allowed_ip_sans_cidr: blockList([]).describe(
    'Address blocks, e.g. 10.0.0.0/8, that all such addresses have to be within; none: any address.',
  ),
  allowed_uri_sans: list([]).describe(
    'URIs permitted as alternative names; "*" stands for any text, "/" and "@" too: end the host with "/" before it. None by default.',
  ),
  allowed_uri_sans_template: flag(false).describe(
    'Fill in identity templates in allowed_uri_sans.',
  ),
  allowed_other_sans: otherSanList([]).describe(
    'Other names permitted, each "<oid>;UTF8:<value>" where "*" in the value stands for any text; a lone "*" permits all.',
  ),
  allowed_serial_numbers: list([]).describe(
    'Subject serial numbers that may be asked for; "*" stands for any text. None by default.',
  ),
  allowed_user_ids: foldedList([]).describe(
    'User ids permitted in the subject, in any letter case; "*" stands for any text. None by default.',
  ),
  allow_globs_in_identity_templates: flag(false).describe(
    'Let "*" in what an identity template is filled in with stand for any text, as it would in the entry itself. Whoever may set the names and metadata of identities then decides what is let in.',
  ),
  must_staple: flag(false).describe(
    'State in certificates that servers have to staple OCSP answers (TLS feature, RFC 7633).',
  ),
  allowed_sids: shortList([]).describe(
    'Security identifiers of Windows accounts that may be asked for; "*" stands for any text. None by default.',
  ),
  allowed_extensions: shortList([]).describe(
    'Object identifiers of further extensions that may be asked for with any value. None by default.',
  ),
  server_flag: flag(true).describe('Certificates are for server authentication.'),
  client_flag: flag(true).describe('Certificates are for client authentication.'),
  code_signing_flag: flag(false).describe('Certificates are for code signing.'),
  email_protection_flag: flag(false).describe('Certificates are for e-mail protection.'),
  key_type: choice([...KEY_TYPES, 'any'], 'rsa', {
    complaint: (sent) => `unknown key type ${sent}`,
  }).describe('Type of key; "any" for signing requests with keys of every type.'),
  key_bits: keySize(0).describe(
    'Size of the key; 0: the usual one. RSA 2048, 3072, 4096 or 8192; EC 224, 256, 384 or 521; ML-DSA 44, 65 or 87, usually 65; SLH-DSA 128, 192 or 256, usually 128.',
  ),
  signature_bits: signatureSize(0).describe(
    'SHA-2 size of the signature, where the issuer has an RSA key: 256, 384 or 512; 0: 256.',
  ),
  use_pss: flag(false).describe('Sign with RSASSA-PSS, where the issuer has an RSA key.'),
  key_usage: keyUsageList([...USUAL_KEY_USAGES]).describe(
    'Key usages of certificates, e.g. DigitalSignature; an empty list leaves the extension out. Of keys that only sign, ML-DSA and SLH-DSA, the others are left out.',
  ),
  ext_key_usage: extKeyUsageList([]).describe('Extended key usages by name, e.g. TimeStamping.'),
  ext_key_usage_oids: list([]).describe('Extended key usages by object identifier.'),
  use_csr_common_name: flag(true).describe(
    'When signing, take the common name of the request instead of the parameter.',
  ),
  use_csr_sans: flag(true).describe(
    'When signing, take the alternative names of the request instead of the parameters.',
  ),
  ou: list([]).describe('OU values of the subject.'),
  organization: list([]).describe('O values of the subject.'),
  country: list([]).describe('C values of the subject.'),
  locality: list([]).describe('L values of the subject.'),
  province: list([]).describe('ST values of the subject.'),
  street_address: list([]).describe('Street addresses of the subject.'),
  postal_code: list([]).describe('Postal codes of the subject.'),
  generate_lease: flag(false).describe(
    'Give each certificate a lease, whose revocation revokes the certificate.',
  ),
  no_store: flag(false).describe(
    'Do not store certificates: they cannot be listed, nor revoked by serial number.',
  ),
  no_store_metadata: flag(false).describe('Refuse cert_metadata instead of storing it.'),
  require_cn: flag(true).describe('Refuse requests without a common name.'),
  cn_validations: commonNameKinds(['email', 'hostname']).describe(
    'Kinds of common name that are accepted: "email", "hostname"; or "disabled" alone, for any.',
  ),
  policy_identifiers: policyIdentifierList([]).describe(
    'Certificate policies: object identifiers, or JSON objects with "oid" and "cps" or "notice".',
  ),
  basic_constraints_valid_for_non_ca: flag(false).describe(
    'State in certificates that their subject is no CA, instead of leaving it out.',
  ),
  not_before_duration: backdating(30).describe('Seconds by which notBefore lies in the past.'),
  not_before: timestampText('').describe(
    'Fixed beginning of every certificate, e.g. "2030-01-31T12:00:00Z", instead of backdating.',
  ),
  not_before_bound: timeBound('permit').describe(
    'What a request may name as not_before: "permit" for any time; "duration" for none before not_before_duration; "forbid" for none; or a timestamp, before which no certificate begins that names its beginning.',
  ),
  not_after: timestampText('').describe(
    'Fixed end of every certificate, e.g. "2030-01-31T12:00:00Z", instead of a TTL; max_ttl does not bound it.',
  ),
  not_after_bound: timeBound('permit').describe(
    'What a request may name as not_after: "permit" for any time, with a warning beyond max_ttl; "ttl-limited" for no later than the TTL would end; "forbid" for none; or a timestamp, after which no certificate ends.',
  ),
  serial_number_source: choice(['json-csr', 'json'], 'json-csr').describe(
    'Where the subject serial number comes from: the parameter or else the request ("json-csr"), or the parameter alone ("json").',
  ),
};

export const roleSchema = z.object(roleFields);
/** A role as stored: `key_bits` and `signature_bits` resolved, lists as they were written. */
export type Role = z.output<typeof roleSchema>;

/** The role fields that rule over names. */
export type NameRules = Pick<
  Role,
  | 'allow_localhost'
  | 'allowed_domains'
  | 'allowed_domains_template'
  | 'allow_bare_domains'
  | 'allow_subdomains'
  | 'allow_glob_domains'
  | 'allow_wildcard_certificates'
  | 'allow_any_name'
  | 'enforce_hostnames'
  | 'allow_ip_sans'
  | 'allowed_ip_sans_cidr'
  | 'allowed_uri_sans'
  | 'allowed_uri_sans_template'
  | 'allow_globs_in_identity_templates'
  | 'allowed_other_sans'
  | 'allowed_serial_numbers'
  | 'allowed_user_ids'
  | 'cn_validations'
>;

export const rolePatchSchema = patchOf(roleFields);
export type RolePatch = z.output<typeof rolePatchSchema>;

/** The reply shape: every field, in alphabetical order. */
export const roleReplySchema = z.object({
  ...roleFields,
  allow_token_displayname: z
    .boolean()
    .describe('Always false; a rule of old that nothing sets any more.'),
});

/** A role as replies show it. */
export function describeRole(role: Role): z.output<typeof roleReplySchema> {
  return { allow_token_displayname: false, ...role };
}

/** Whether a role's `issuer_ref` names an issuer, and not whichever is the default when it is used. */
export function namesIssuer(ref: string): boolean {
  return ref !== '' && ref.toLowerCase() !== 'default';
}

/**
 * What to tell a writer whose role could not be used right now.
 *
 * @param known whether `issuer_ref` resolves to an issuer of the mount
 * @see P-18
 */
export function warnOfIssuer(role: Role, known: boolean): string[] {
  if (known) return [];
  return role.issuer_ref.toLowerCase() === 'default'
    ? [
        'Issuing Certificate was set to default, but no default issuing certificate (configurable at /config/issuers) is currently set',
      ]
    : [
        `Issuing Certificate was set to ${role.issuer_ref} but no issuing certificate currently has that name`,
      ];
}
