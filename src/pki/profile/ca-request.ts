import type { z } from 'zod';
import { parseUrl } from '../../core/domain-names.ts';
import { type Failure, invalid } from '../../core/failure.ts';
import { flag, integer, list, modestList, optional, text } from '../../core/fields.ts';
import type { SubjectAltNames } from '../../x509/general-names.ts';
import type { KeyType } from '../../x509/keys.ts';
import { isAbsoluteUri } from '../../x509/lint-extensions.ts';
import { encodeSubject, isEmptyName } from '../../x509/names.ts';
import { backdating, extKeyUsageList, keyUsageList, rangeList } from '../fields/field-kinds.ts';
import { toAsciiDnsName, toAsciiHostName } from '../fields/host-name.ts';
import {
  KEY_TYPES,
  keySize,
  managedKeyFields,
  newNameText,
  referenceText,
  signatureSize,
} from '../fields/key-field-kinds.ts';
import { splitNames } from '../fields/split-names.ts';
import { chooseExtKeyUsages, fitKeyUsages, warnOfUnknownUsages } from '../fields/usages.ts';
import { requireOtherSan, withoutDuplicates } from './names.ts';
import { endFields, nameFields, outputFields } from './request.ts';

const subjectList = (what: string) => list([]).describe(`${what} values of the subject.`);

const caAttributeFields = {
  ou: subjectList('OU'),
  organization: subjectList('O'),
  country: subjectList('C'),
  locality: subjectList('L'),
  province: subjectList('ST'),
  street_address: subjectList('Street address'),
  postal_code: subjectList('Postal code'),
};

/** What the makers of a request for the certificate of a CA say about it: it is another who says until when. */
export const caNameFields = { ...outputFields, ...nameFields, ...caAttributeFields };
export type CaNameRequest = z.output<z.ZodObject<typeof caNameFields>>;

/** What the makers of a CA certificate say about its subject (2.1.3). */
export const caSubjectFields = {
  ...outputFields,
  ...nameFields,
  ...endFields,
  not_before_duration: backdating(30).describe('Seconds by which notBefore lies in the past.'),
  ...caAttributeFields,
};

/** Which key a CA has, made or there already; type and size stay unresolved. */
export const caKeyFields = {
  key_name: optional(newNameText()).describe('A name for the key, unique in the mount.'),
  key_ref: referenceText('default').describe('With "existing": the key to be used, by id or name.'),
  key_type: optional(text()).describe(`${KEY_TYPES.join(', ')}; rsa by default.`),
  key_bits: optional(keySize()).describe(
    'Size of the key; 0: 2048 for RSA, 256 for EC, 65 for ML-DSA, 128 for SLH-DSA.',
  ),
  ...managedKeyFields,
};

/** How that key signs. */
export const caSignatureFields = {
  signature_bits: signatureSize(0).describe('SHA-2 size of the signature of an RSA key; 0: 256.'),
  use_pss: flag(false).describe('Sign with RSASSA-PSS, where the key is an RSA key.'),
};

/** How a CA certificate is signed, and what it permits those beneath it (2.1.5). */
export const caIssueFields = {
  ...caSignatureFields,
  max_path_length: integer(-1).describe('How many CAs may follow in a chain; -1: any number.'),
  key_usage: keyUsageList([]).describe(
    'Key usages besides CertSign and CRLSign, e.g. DigitalSignature.',
  ),
  ext_key_usage: extKeyUsageList([]).describe(
    'Extended key usages by name, which bound what certificates beneath are for; none: for anything.',
  ),
  ext_key_usage_oids: modestList([]).describe('Extended key usages by object identifier.'),
  permitted_dns_domains: list([]).describe('Domains that certificates beneath may name.'),
  excluded_dns_domains: list([]).describe('Domains that certificates beneath may not name.'),
  permitted_ip_ranges: rangeList([]).describe('IP ranges, in CIDR form, that they may name.'),
  excluded_ip_ranges: rangeList([]).describe('IP ranges, in CIDR form, that they may not name.'),
  permitted_email_addresses: list([]).describe('E-mail addresses or hosts they may name.'),
  excluded_email_addresses: list([]).describe('E-mail addresses or hosts they may not name.'),
  permitted_uri_domains: list([]).describe('Hosts of URIs they may name.'),
  excluded_uri_domains: list([]).describe('Hosts of URIs they may not name.'),
};
type CaIssueRequest = z.output<z.ZodObject<typeof caIssueFields>>;

/**
 * How many CAs may follow in a chain, as asked for.
 *
 * @returns undefined for any number
 * @throws Failure `invalid` for a number that is none
 */
export function parsePathLength({
  max_path_length,
}: Pick<CaIssueRequest, 'max_path_length'>): number | undefined {
  if (max_path_length >= 0) return max_path_length;
  if (max_path_length === -1) return undefined;
  throw invalid(`max_path_length: ${max_path_length} is less than -1`, {
    fields: { max_path_length: 'how many authorities may follow, or -1 for any number' },
  });
}

/**
 * The subject of a CA, which must have one.
 *
 * @returns DER of the Name, and a warning where it lacks the name most programs show
 * @throws Failure `invalid` when nothing is in it
 * @see RFC 5280 §4.1.2.6
 */
export function planCaSubject(request: CaNameRequest): {
  subject: Uint8Array;
  warnings: string[];
} {
  const subject = encodeSubject(request);
  if (isEmptyName(subject)) {
    throw invalid('common_name is required, or other parts of the subject are', {
      fields: { common_name: 'a name for the authority' },
    });
  }
  const warnings =
    request.common_name === ''
      ? ['the subject has no common name: some clients show or match nothing else']
      : [];
  return { subject, warnings };
}

/**
 * The alternative names of a CA. No role rules over them; they only have to be what they
 * pretend to be. The common name is one of them when it is a name of a host or a mailbox.
 *
 * @param of whose they are, for messages
 * @throws Failure `invalid`, naming the field
 */
export function parseCaNames(
  request: CaNameRequest,
  of: 'a root' | 'an intermediate',
): SubjectAltNames {
  const listed = splitNames(request.alt_names);
  requireFewNames({ ...request, alt_names: listed }, of);
  const email = listed.filter((name) => name.includes('@')).map(requireEmail);
  const dns = listed.filter((name) => !name.includes('@')).map(requireDnsName);
  const { common_name } = request;
  if (!request.exclude_cn_from_sans) {
    const ascii = toAsciiDnsName(common_name);
    const address = findEmail(common_name);
    if (address !== undefined) email.unshift(address);
    else if (ascii !== undefined && common_name.includes('.')) dns.unshift(ascii);
  }
  return withoutDuplicates({
    dns,
    email,
    ip: request.ip_sans,
    uri: request.uri_sans.map(requireUri),
    other: request.other_sans.map(requireOtherSan),
  });
}

/** Nobody reaches a CA by its names; its certificate goes with all that it signs. */
export const MOST_CA_NAMES = 100;
export const MOST_CA_BYTES = 64 << 10;

const NAME_FIELDS = ['alt_names', 'ip_sans', 'uri_sans', 'other_sans'] as const;

/** @throws Failure `invalid` naming the fields that have too many */
function requireFewNames(
  names: Record<(typeof NAME_FIELDS)[number], readonly string[]>,
  of: string,
): void {
  const counts = NAME_FIELDS.map((field) => ({ field, count: names[field].length }));
  const count = counts.reduce((sum, one) => sum + one.count, 0);
  if (count <= MOST_CA_NAMES) return;
  const sent = counts.filter((one) => one.count > 0).map(({ field }) => field);
  throw invalid(
    `${sent.join(', ')}: ${count} names of ${of}, at most ${MOST_CA_NAMES} are accepted`,
    {
      fields: Object.fromEntries(
        sent.map((field) => [field, `at most ${MOST_CA_NAMES} names together`]),
      ),
    },
  );
}

function requireDnsName(name: string): string {
  const ascii = toAsciiDnsName(name);
  if (ascii === undefined) throw refuseName(name, 'a DNS name');
  return ascii;
}

function requireEmail(name: string): string {
  const ascii = findEmail(name);
  if (ascii === undefined) throw refuseName(name, 'an e-mail address');
  return ascii;
}

/** @returns the address with its domain in ASCII, `undefined` when it is none */
function findEmail(name: string): string | undefined {
  const at = name.indexOf('@');
  if (at < 0) return undefined;
  const domain = toAsciiHostName(name.slice(at + 1));
  const local = name.slice(0, at);
  return domain !== undefined && /^[\x21-\x3f\x41-\x7e]+$/.test(local)
    ? `${local}@${domain}`
    : undefined;
}

/** A request that says what no certificate can is refused here, not by whoever is to sign it. @see P-405 */
function requireUri(uri: string): string {
  if (isAbsoluteUri(uri) && parseUrl(uri) !== undefined) return uri;
  throw refuseName(uri, 'an absolute URI', { uri_sans: 'absolute URIs, with commas between them' });
}

function refuseName(
  name: string,
  what: string,
  fields: Readonly<Record<string, string>> = {
    alt_names: 'DNS names and e-mail addresses, with commas between them',
  },
): Failure {
  const shown = JSON.stringify(name.slice(0, 256));
  return invalid(`subject alternate name ${shown} is not ${what}`, { fields });
}

/** What a CA's key is for, at the least. @see RFC 5280 §4.2.1.3 */
export const CA_KEY_USAGES = ['CertSign', 'CRLSign'] as const;

/**
 * What a CA and its key are for, as object identifiers of the extended usages, and warnings of names that mean nothing.
 *
 * @see P-24
 */
export function planCaUsages(
  asked: Pick<CaIssueRequest, 'key_usage' | 'ext_key_usage' | 'ext_key_usage_oids'>,
  key_type: KeyType,
): {
  key_usage: readonly string[];
  ext_key_usage: string[];
  warnings: string[];
} {
  const { ext_key_usage, ext_key_usage_oids } = asked;
  const { key_usage, warnings } = fitKeyUsages(key_type, [...CA_KEY_USAGES, ...asked.key_usage]);
  return {
    key_usage,
    ext_key_usage: chooseExtKeyUsages({ ...NO_FLAGS, ext_key_usage, ext_key_usage_oids }),
    warnings: [...warnOfUnknownUsages(asked), ...warnings],
  };
}

const NO_FLAGS = {
  server_flag: false,
  client_flag: false,
  code_signing_flag: false,
  email_protection_flag: false,
};
