import { z } from 'zod';
import { invalid } from '../../core/failure.ts';
import {
  choice,
  duration,
  flag,
  list,
  longText,
  optional,
  text,
  timestampText,
} from '../../core/fields.ts';
import {
  addressList,
  extKeyUsageList,
  keyFormatText,
  keyUsageList,
  namesText,
  nameText,
  otherSanList,
  pemText,
} from '../fields/field-kinds.ts';
import { KEY_TYPES, keySize, signatureSize } from '../fields/key-field-kinds.ts';
import { USUAL_KEY_USAGES } from '../fields/usages.ts';

/** How an answer is encoded. */
const FORMATS = ['pem', 'der', 'pem_bundle'] as const;
export const outputFields = {
  format: choice(FORMATS, 'pem', {
    complaint: () => 'the "format" path parameter must be "pem", "der", or "pem_bundle"',
  }).describe('Encoding of the answer: "pem", "der" (in base64), or "pem_bundle".'),
  private_key_format: keyFormatText('der').describe(
    'Form of private_key: "der", the traditional one of its kind, or "pkcs8".',
  ),
};
export type Format = z.output<typeof outputFields.format>;

/** Names beside the common one. */
export const nameFields = {
  common_name: nameText('').describe('Common name of the subject.'),
  alt_names: namesText('').describe('DNS names and e-mail addresses, with commas between them.'),
  ip_sans: addressList([]).describe('IP addresses.'),
  uri_sans: list([]).describe('URIs.'),
  other_sans: otherSanList([]).describe('Other names, each "<oid>;UTF8:<value>".'),
  exclude_cn_from_sans: flag(false).describe('Leave the common name out of the alternative names.'),
  serial_number: text('').describe('The serialNumber attribute of the subject.'),
};
export type NameRequest = z.output<z.ZodObject<typeof nameFields>>;

export const endFields = {
  ttl: duration(0).describe('Validity in seconds; 0: the default of role or mount.'),
  not_after: timestampText('').describe(
    'End of validity instead of a TTL, e.g. "2030-01-31T12:00:00Z".',
  ),
};

const leafFields = {
  ...outputFields,
  ...nameFields,
  ...endFields,
  not_before: timestampText('').describe(
    'Beginning of validity, e.g. "2030-01-31T12:00:00Z", where the role lets it be named.',
  ),
  remove_roots_from_chain: flag(false).describe('Leave self-signed certificates out of ca_chain.'),
  user_ids: list([]).describe('User ids for the subject (UID attributes).'),
  cert_metadata: longText('').describe(
    'Base64 of bytes to be kept with the certificate, at most 65,535; cert-metadata/{serial} has them again.',
  ),
};

/** Of those the role has lists. */
const extensionFields = {
  sid: text('').describe(
    "Security identifier of a Windows account, e.g. S-1-5-21-1-2-3-1000, for Microsoft's extension; within allowed_sids.",
  ),
  extensions: list([]).describe(
    'Further extensions, each "<oid>;UTF8:<text>" or "<oid>;DER:<base64>"; within allowed_extensions.',
  ),
};

/** Most characters of a password that a key is put under. */
const MAX_PASSWORD = 1_024;

/** The body of `issue/:role`. */
export const issueFields = {
  ...leafFields,
  format: choice([...FORMATS, 'pkcs12'], 'pem', {
    complaint: () =>
      'the "format" path parameter must be "pem", "der", or "pem_bundle", or "pkcs12" where the key is made',
  }).describe(
    'Encoding of the answer: "pem", "der" (in base64), "pem_bundle", or "pkcs12" for key and certificates in one file under a password.',
  ),
  password: optional(text()).describe(
    `For "pkcs12": what opens the file, at most ${MAX_PASSWORD} characters. Kept nowhere.`,
  ),
  ...extensionFields,
  key_type: optional(choice(KEY_TYPES)).describe('Type of key, where the role leaves it open.'),
  key_bits: keySize(0).describe('Size of the key, where the role leaves it open.'),
};
export const issueSchema = z.object(issueFields);
export type IssueRequest = z.output<typeof issueSchema>;

/**
 * The password of a request for PKCS #12; undefined where another format is asked for.
 *
 * @throws Failure `invalid`, which does not repeat it
 */
export function passwordOf({
  format,
  password = '',
}: Pick<IssueRequest, 'format' | 'password'>): string | undefined {
  if (format !== 'pkcs12') return undefined;
  if (password !== '' && password.length <= MAX_PASSWORD) return password;
  const wanted = `1 to ${MAX_PASSWORD} characters`;
  throw invalid(`format "pkcs12" needs a password of ${wanted}`, { fields: { password: wanted } });
}

const csrField = {
  csr: pemText('').describe('The request to be signed, PKCS #10 in PEM.'),
};

/** The body of `sign/:role`. */
export const signFields = { ...leafFields, ...extensionFields, ...csrField };
export const signSchema = z.object(signFields);
export type SignRequest = z.output<typeof signSchema>;

/** The body of `sign-verbatim`: usages count where the request has none of its own. */
export const verbatimFields = {
  ...leafFields,
  ...csrField,
  key_usage: keyUsageList([...USUAL_KEY_USAGES]).describe(
    'Key usages, where the request has none.',
  ),
  ext_key_usage: extKeyUsageList([]).describe(
    'Extended key usages by name, where the request has none.',
  ),
  ext_key_usage_oids: list([]).describe(
    'Extended key usages by object identifier, where the request has none.',
  ),
  signature_bits: signatureSize(0).describe(
    'SHA-2 size of the signature, where the issuer has an RSA key: 256, 384 or 512; 0: 256.',
  ),
  use_pss: flag(false).describe('Sign with RSASSA-PSS, where the issuer has an RSA key.'),
  basic_constraints_valid_for_non_ca: optional(flag()).describe(
    'State in the certificate that its subject is no CA; not sent: as the role has it.',
  ),
  enforce_leaf_not_after_behavior: flag(false).describe(
    "Apply the issuer's leaf_not_after_behavior instead of ending with the issuer.",
  ),
};
export const verbatimSchema = z.object(verbatimFields);
export type VerbatimRequest = z.output<typeof verbatimSchema>;
