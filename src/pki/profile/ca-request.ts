import type { z } from 'zod';
import { type Failure, invalid } from '../../core/failure.ts';
import { flag, integer, list } from '../../core/fields.ts';
import type { SubjectAltNames } from '../../x509/general-names.ts';
import { encodeSubject, isEmptyName } from '../../x509/names.ts';
import { backdating, keyUsageList, rangeList } from '../fields/field-kinds.ts';
import { toAsciiDnsName, toAsciiHostName } from '../fields/host-name.ts';
import { signatureSize } from '../fields/key-field-kinds.ts';
import { splitNames } from '../fields/split-names.ts';
import { requireOtherSan } from './names.ts';
import { endFields, nameFields, outputFields } from './request.ts';

const subjectList = (what: string) => list([]).describe(`${what} values of the subject.`);

/** What the makers of a CA certificate, or of a request for one, say about its subject (2.1.3). */
export const caSubjectFields = {
  ...outputFields,
  ...nameFields,
  ...endFields,
  not_before_duration: backdating(30).describe('Seconds by which notBefore lies in the past.'),
  ou: subjectList('OU'),
  organization: subjectList('O'),
  country: subjectList('C'),
  locality: subjectList('L'),
  province: subjectList('ST'),
  street_address: subjectList('Street address'),
  postal_code: subjectList('Postal code'),
};
export type CaSubjectRequest = z.output<z.ZodObject<typeof caSubjectFields>>;

/** How a CA certificate is signed, and what it permits those beneath it (2.1.5). */
export const caIssueFields = {
  signature_bits: signatureSize(0).describe('SHA-2 size of the signature of an RSA key; 0: 256.'),
  use_pss: flag(false).describe('Sign with RSASSA-PSS, where the key is an RSA key.'),
  max_path_length: integer(-1).describe('How many CAs may follow in a chain; -1: any number.'),
  key_usage: keyUsageList([]).describe(
    'Key usages besides CertSign and CRLSign, e.g. DigitalSignature.',
  ),
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
export function planCaSubject(request: CaSubjectRequest): {
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
 * @param listed its `alt_names`, where they have been split already
 * @throws Failure `invalid`, naming the field
 */
export function parseCaNames(
  request: CaSubjectRequest,
  listed = splitNames(request.alt_names),
): SubjectAltNames {
  const email = listed.filter((name) => name.includes('@')).map(requireEmail);
  const dns = listed.filter((name) => !name.includes('@')).map(requireDnsName);
  const { common_name } = request;
  if (!request.exclude_cn_from_sans) {
    const ascii = toAsciiDnsName(common_name);
    const address = findEmail(common_name);
    if (address !== undefined) email.unshift(address);
    else if (ascii !== undefined && common_name.includes('.')) dns.unshift(ascii);
  }
  return {
    dns: [...new Set(dns)],
    email: [...new Set(email)],
    ip: request.ip_sans,
    uri: request.uri_sans,
    other: request.other_sans.map(requireOtherSan),
  };
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

function refuseName(name: string, what: string): Failure {
  const shown = JSON.stringify(name.slice(0, 256));
  return invalid(`subject alternate name ${shown} is not ${what}`, {
    fields: { alt_names: 'DNS names and e-mail addresses, with commas between them' },
  });
}

/** What a CA's key is for, at the least. @see RFC 5280 §4.2.1.3 */
export const CA_KEY_USAGES = ['CertSign', 'CRLSign'] as const;
