import { subjectAltName } from '../../src/x509/extensions.ts';
import { makeCsr } from './leaves.ts';

/** Names as a request asks for them, each in its kind. */
export interface AskedNames {
  common_name?: string;
  dns?: readonly string[];
  email?: readonly string[];
  ip?: readonly string[];
  uri?: readonly string[];
  other?: readonly { oid: string; value: string }[];
  serial_number?: string;
  user_ids?: readonly string[];
}

export interface RefusedName {
  what: string;
  /** Fields of a role, or of whatever judges names as a role does. */
  rules: Readonly<Record<string, unknown>>;
  /** Let in by the same rules: the one beside it is refused for what differs. */
  allowed: AskedNames;
  refused: AskedNames;
  says: RegExp;
}

const UPN = '1.3.6.1.4.1.311.20.2.3';
const domain = { allowed_domains: 'example.com' };
const bare = { ...domain, allow_bare_domains: true };
const sub = { ...domain, allow_subdomains: true };
const any = { allow_any_name: true };
const CN = /common name .* not allowed by this role/;
const SAN = /subject alternate name .* not allowed by this role/;

const ofCommonName = (
  what: string,
  rules: RefusedName['rules'],
  allowed: string,
  refused: string,
): RefusedName => ({
  what,
  rules,
  allowed: { common_name: allowed },
  refused: { common_name: refused },
  says: CN,
});

const within = { common_name: 'a.example.com' };

/**
 * Names that no path lets in that judges them by rules: each beside one that the same rules let in.
 * Whoever adds a way to ask for names runs it through this table.
 */
export const REFUSED_NAMES: readonly RefusedName[] = [
  ofCommonName(
    'a name beneath, where the domain alone is let in',
    bare,
    'example.com',
    'a.example.com',
  ),
  ofCommonName('the domain, where names beneath are let in', sub, 'a.example.com', 'example.com'),
  ofCommonName('a name that ends alike', sub, 'not.example.com', 'notexample.com'),
  ofCommonName('another domain', sub, 'a.example.com', 'a.example.org'),
  ofCommonName('a domain behind the domain', sub, 'a.example.com', 'example.com.evil.test'),
  ofCommonName('two wildcards', any, '*.a.test', '*.*.a.test'),
  ofCommonName('a wildcard inside', any, '*.a.test', 'a.*.test'),
  ofCommonName(
    'a wildcard, where there are to be none',
    { ...sub, allow_wildcard_certificates: false },
    'a.example.com',
    '*.example.com',
  ),
  ofCommonName('a wildcard of the domain alone', bare, 'example.com', '*.example.com'),
  ofCommonName(
    'what a pattern does not cover',
    { allowed_domains: 'web*.example.com', allow_glob_domains: true },
    'web1.example.com',
    'db1.example.com',
  ),
  ofCommonName(
    'a pattern that is none',
    { ...sub, allowed_domains: ['*.example.com', 'b.test'] },
    'a.b.test',
    'a.example.com',
  ),
  ofCommonName('beneath localhost', {}, 'localhost', 'a.localhost'),
  ofCommonName('an underscore', any, 'a-b.test', 'a_b.test'),
  ofCommonName('two final dots', any, 'a.test.', 'a.test..'),
  ofCommonName('two at signs', any, 'a@b.test', 'a@b@c.test'),
  ofCommonName(
    'a mailbox, where a host is wanted',
    { ...bare, cn_validations: 'hostname' },
    'example.com',
    'a@example.com',
  ),
  ofCommonName(
    'a host, where a mailbox is wanted',
    { ...bare, cn_validations: 'email' },
    'a@example.com',
    'example.com',
  ),
  ofCommonName('words', any, 'bank123', 'Bank 123'),
  {
    what: 'a DNS name of another domain',
    rules: sub,
    allowed: { ...within, dns: ['b.example.com'] },
    refused: { ...within, dns: ['b.example.com', 'evil.test'] },
    says: SAN,
  },
  {
    what: 'a mailbox of another domain',
    rules: sub,
    allowed: { ...within, email: ['a@b.example.com'] },
    refused: { ...within, email: ['a@evil.test'] },
    says: /email address a@evil\.test not allowed by this role/,
  },
  {
    what: 'an address, where there are to be none',
    rules: { ...sub, allow_ip_sans: false },
    allowed: within,
    refused: { ...within, ip: ['10.0.0.1'] },
    says: /IP Subject Alternative Names are not allowed in this role/,
  },
  {
    what: 'an address outside of the blocks',
    rules: { ...sub, allowed_ip_sans_cidr: '10.0.0.0/8' },
    allowed: { ...within, ip: ['10.1.2.3'] },
    refused: { ...within, ip: ['10.1.2.3', '11.0.0.1'] },
    says: /11\.0\.0\.1/,
  },
  {
    what: 'a URI, where none is let in',
    rules: sub,
    allowed: within,
    refused: { ...within, uri: ['spiffe://host.com/a'] },
    says: /URI Subject Alternative Names are not allowed in this role/,
  },
  {
    what: 'a URI of another host',
    rules: { ...sub, allowed_uri_sans: 'spiffe://host.com/*' },
    allowed: { ...within, uri: ['spiffe://host.com/a'] },
    refused: { ...within, uri: ['spiffe://host.com.evil.test/a'] },
    says: /not valid for this role/,
  },
  {
    what: 'an other name of another kind',
    rules: { ...sub, allowed_other_sans: `${UPN};UTF8:*@example.com` },
    allowed: { ...within, other: [{ oid: UPN, value: 'a@example.com' }] },
    refused: { ...within, other: [{ oid: '1.2.3.4', value: 'a@example.com' }] },
    says: /other SAN OID 1\.2\.3\.4 not allowed by this role/,
  },
  {
    what: 'an other name of another value',
    rules: { ...sub, allowed_other_sans: `${UPN};UTF8:*@example.com` },
    allowed: { ...within, other: [{ oid: UPN, value: 'a@example.com' }] },
    refused: { ...within, other: [{ oid: UPN, value: 'a@evil.test' }] },
    says: /not allowed for OID/,
  },
  {
    what: 'a serial number of the subject',
    rules: { ...sub, allowed_serial_numbers: 'f*' },
    allowed: { ...within, serial_number: 'f1' },
    refused: { ...within, serial_number: 'g1' },
    says: /serial_number g1 not allowed by this role/,
  },
  {
    what: 'a user id',
    rules: { ...sub, allowed_user_ids: 'ann' },
    allowed: { ...within, user_ids: ['ann'] },
    refused: { ...within, user_ids: ['ann', 'bob'] },
    says: /user_id bob is not allowed by this role/,
  },
];

/** The names as fields of a request. */
export function fieldsOfNames(names: AskedNames): Record<string, string | readonly string[]> {
  const { common_name = '', serial_number = '', dns = [], email = [] } = names;
  return {
    common_name,
    serial_number,
    alt_names: [...dns, ...email].join(','),
    ip_sans: names.ip ?? [],
    uri_sans: names.uri ?? [],
    other_sans: (names.other ?? []).map(({ oid, value }) => `${oid};UTF8:${value}`),
    user_ids: names.user_ids ?? [],
  };
}

/** The names in a request of PKCS #10. */
export function csrOfNames(names: AskedNames): string {
  const { common_name, serial_number, user_ids } = names;
  const { dns = [], email = [], ip = [], uri = [], other = [] } = names;
  const count = dns.length + email.length + ip.length + uri.length + other.length;
  return makeCsr({
    subject: {
      ...(common_name !== undefined && { common_name }),
      ...(serial_number !== undefined && { serial_number }),
      ...(user_ids !== undefined && { user_ids }),
    },
    extensions: count === 0 ? [] : [subjectAltName({ dns, email, ip, uri, other }, false)],
  });
}
