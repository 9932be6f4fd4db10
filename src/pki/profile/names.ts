import { type Failure, invalid } from '../../core/failure.ts';
import type { Csr } from '../../x509/csr.ts';
import { MAX_NAMES, type SubjectAltNames } from '../../x509/general-names.ts';
import { canonicalAddress } from '../../x509/ip-addresses.ts';
import { isAscii, toAsciiDnsName, toAsciiHostName } from '../fields/host-name.ts';
import { type OtherSan, parseOtherSan } from '../fields/other-san.ts';
import { quote, refuseCount, splitNames } from '../fields/split-names.ts';
import type { NameSource, RequestedNames } from '../roles/name-policy.ts';
import type { Role } from '../roles/role.ts';
import type { NameRequest } from './request.ts';

/** Names as they will be judged and then written, and what to tell the caller about them. */
export interface CollectedNames {
  names: RequestedNames;
  /** Where the alternative names came from. */
  source: NameSource;
  warnings: string[];
}

type NameFields = NameRequest & { user_ids: readonly string[] };
type SourceRules = Pick<
  Role,
  'use_csr_common_name' | 'use_csr_sans' | 'require_cn' | 'serial_number_source'
>;

/**
 * Brings together the names of a request without CSR: the parameters are all there is.
 *
 * @throws Failure `invalid` for a missing common name where one is required, and for names that
 *   cannot be converted
 * @see P-29
 */
export function collectNames(request: NameFields, rules: Pick<Role, 'require_cn'>): CollectedNames {
  requireCommonName(request.common_name, rules);
  const warnings: string[] = [];
  const names = makeNames();
  names.common_name = request.common_name;
  names.serial_number = request.serial_number;
  names.user_ids.push(...new Set(request.user_ids));
  addCommonName(names, request);
  addRequested(names, request, warnings);
  return { names: withoutDuplicates(names), source: 'the API', warnings };
}

/**
 * Brings together the names of a request with CSR: of each kind the CSR's or the parameters', as
 * the role has it.
 *
 * @throws Failure `invalid`, as {@link collectNames}
 * @see P-26, P-29
 */
export function collectCsrNames(request: NameFields, csr: Csr, rules: SourceRules): CollectedNames {
  const warnings: string[] = [];
  const names = makeNames();
  const { fields } = csr.subjectName;

  const csrCommonName = rules.use_csr_common_name ? (fields.common_name ?? '') : '';
  names.common_name = csrCommonName || request.common_name;
  requireCommonName(names.common_name, rules);
  if (rules.use_csr_common_name && request.common_name !== '') {
    warnings.push(warnOfUnused('common_name', 'use_csr_common_name'));
  }
  const csrSerial = rules.serial_number_source === 'json-csr' ? (fields.serial_number ?? '') : '';
  names.serial_number = request.serial_number || csrSerial;
  const user_ids = request.user_ids.length > 0 ? request.user_ids : fields.user_ids;
  names.user_ids.push(...new Set(user_ids));

  if (rules.use_csr_sans) {
    const sans = csr.subjectAltNames;
    names.dns.push(...(sans?.dns ?? []));
    names.email.push(...(sans?.email ?? []));
    names.ip.push(...(sans?.ip ?? []));
    names.uri.push(...(sans?.uri ?? []));
    names.other.push(...(sans?.other ?? []), ...request.other_sans.map(requireOtherSan));
    addCommonName(names, request);
    if (splitNames(request.alt_names).length > 0) {
      warnings.push(warnOfUnused('alt_names', 'use_csr_sans'));
    }
    if (request.ip_sans.length > 0) warnings.push(warnOfUnused('ip_sans', 'use_csr_sans'));
    if (request.uri_sans.length > 0) warnings.push(warnOfUnused('uri_sans', 'use_csr_sans'));
    return { names: withoutDuplicates(names), source: 'CSR', warnings };
  }
  addCommonName(names, request);
  addRequested(names, request, warnings);
  return { names: withoutDuplicates(names), source: 'the API', warnings };
}

type NameLists = {
  -readonly [Name in keyof RequestedNames]: RequestedNames[Name] extends readonly (infer Item)[]
    ? Item[]
    : RequestedNames[Name];
};

function makeNames(): NameLists {
  return {
    common_name: '',
    dns: [],
    email: [],
    ip: [],
    uri: [],
    other: [],
    serial_number: '',
    user_ids: [],
  };
}

/** @see P-27 */
function requireCommonName(common_name: string, rules: Pick<Role, 'require_cn'>): void {
  if (common_name !== '' || !rules.require_cn) return;
  throw invalid(
    'the common_name field is required, or must be provided in a CSR with "use_csr_common_name" set to true, unless "require_cn" is set to false',
    { fields: { common_name: 'a name' } },
  );
}

function warnOfUnused(field: string, rule: string): string {
  return `the ${field} field was provided but the role is set with "${rule}" set to true`;
}

/**
 * A common name that is an address or a host name stands among the alternative names too.
 *
 * @see P-28
 */
function addCommonName(names: NameLists, request: NameFields): void {
  const { common_name } = names;
  if (common_name === '' || request.exclude_cn_from_sans) return;
  if (common_name.includes('@')) {
    names.email.push(toAsciiEmail(common_name) ?? common_name);
    return;
  }
  const ascii = toAsciiDnsName(common_name);
  if (ascii !== undefined) names.dns.push(ascii);
}

function addRequested(names: NameLists, request: NameFields, warnings: string[]): void {
  const alt_names = splitNames(request.alt_names);
  const { ip_sans, uri_sans, other_sans } = request;
  // Before the work that each of them makes, and not only once they are to be written.
  const count = alt_names.length + ip_sans.length + uri_sans.length + other_sans.length;
  if (count > MAX_NAMES) throw refuseCount(String(count));
  for (const name of alt_names) {
    if (name.includes('@')) {
      names.email.push(requireAsciiEmail(name));
      continue;
    }
    const ascii = toAsciiDnsName(name);
    if (ascii !== undefined) names.dns.push(ascii);
    else if (isAscii(name))
      warnings.push(`alt_names: ${quote(name)} is no host name and was left out`);
    else throw refuseConversion(name);
  }
  names.ip.push(...ip_sans);
  names.uri.push(...uri_sans);
  names.other.push(...other_sans.map(requireOtherSan));
}

function requireAsciiEmail(address: string): string {
  const ascii = toAsciiEmail(address);
  if (ascii === undefined && !isAscii(address)) throw refuseConversion(address);
  return ascii ?? address;
}

/** @returns the address with its domain in ASCII; `undefined` when the domain is no host name */
function toAsciiEmail(address: string): string | undefined {
  const at = address.lastIndexOf('@');
  const domain = toAsciiHostName(address.slice(at + 1));
  return domain === undefined ? undefined : `${address.slice(0, at)}@${domain}`;
}

function refuseConversion(name: string): Failure {
  return invalid(`alt_names: ${quote(name)} cannot be written as a domain name`, {
    fields: { alt_names: 'host names and e-mail addresses' },
  });
}

/** @throws Failure `invalid` */
export function requireOtherSan(text: string): OtherSan {
  const parsed = parseOtherSan(text);
  if ('because' in parsed) {
    throw invalid(parsed.because, {
      fields: { other_sans: '"<oid>;UTF8:<value>"' },
    });
  }
  return parsed;
}

/** Keeps the first of names that are written differently only, where that makes no difference. */
export function withoutDuplicates<Names extends SubjectAltNames>(names: Names): Names {
  return {
    ...names,
    dns: distinct(names.dns, (name) => name.toLowerCase()),
    email: distinct(names.email, foldEmail),
    ip: distinct(names.ip, canonicalAddress),
    uri: distinct(names.uri, (name) => name),
    other: distinct(names.other, ({ oid, value }) => `${oid};${value}`),
  };
}

/** The part before "@" is case-sensitive. */
function foldEmail(address: string): string {
  const at = address.lastIndexOf('@');
  return address.slice(0, at) + address.slice(at).toLowerCase();
}

function distinct<Item>(items: readonly Item[], keyOf: (item: Item) => string): Item[] {
  const kept = new Map<string, Item>();
  for (const item of items) {
    const key = keyOf(item);
    if (!kept.has(key)) kept.set(key, item);
  }
  return [...kept.values()];
}
