import { isIP } from 'node:net';
import { matchGlob } from '../../core/glob.ts';
import { expandTemplate, type IdentityFacts, isTemplate } from '../../core/identity-template.ts';
import { isAscii, isWildcardLabel, toAsciiHostName } from './host-name.ts';
import { type OtherSan, parseOtherSan } from './other-san.ts';
import type { Role } from './role.ts';

export type NameVerdict = { allowed: true } | { allowed: false; because: string };

/** Every identity that a certificate would state, wherever it came from. */
export interface RequestedNames {
  /** Empty for none. */
  common_name: string;
  /** dNSNames in ASCII, `*.` permitted in front. */
  dns: readonly string[];
  email: readonly string[];
  ip: readonly string[];
  uri: readonly string[];
  other: readonly OtherSan[];
  /** The serialNumber attribute of the subject; empty for none. */
  serial_number: string;
  user_ids: readonly string[];
}

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
  | 'allowed_uri_sans'
  | 'allowed_uri_sans_template'
  | 'allowed_other_sans'
  | 'allowed_serial_numbers'
  | 'allowed_user_ids'
  | 'cn_validations'
>;

/** Where the alternative names came from, as refusals call it. */
export type NameSource = 'the API' | 'CSR';

const ALLOWED: NameVerdict = { allowed: true };

/**
 * The one place where names are judged, for every way to a certificate. All of the names have
 * to be allowed (contract 3.7).
 *
 * @param identity fills in templates; undefined when the caller has no entity, and then no
 *   templated entry matches anything
 * @param source where the alternative names came from, for the refusal's text
 */
export function judgeNames(
  rules: NameRules,
  names: RequestedNames,
  identity?: IdentityFacts,
  source: NameSource = 'the API',
): NameVerdict {
  const domains = expandEntries(rules.allowed_domains, rules.allowed_domains_template, identity);
  const uris = expandEntries(rules.allowed_uri_sans, rules.allowed_uri_sans_template, identity);
  return (
    findRefusal([names.common_name], (name) => judgeCommonName(rules, domains, name)) ??
    findRefusal([names.serial_number], (serial) => judgeSerialNumber(rules, serial)) ??
    findRefusal(names.user_ids, (id) => judgeUserId(rules, id)) ??
    findRefusal(names.dns, (name) => judgeDnsName(rules, domains, name)) ??
    findRefusal(names.email, (name) => judgeEmail(rules, domains, name)) ??
    findRefusal(names.ip, (ip) => judgeIp(rules, ip, source)) ??
    findRefusal(names.uri, (uri) => judgeUri(rules, uris, uri, source)) ??
    findRefusal(names.other, (other) => judgeOtherSan(rules, other)) ??
    ALLOWED
  );
}

function findRefusal<Name>(
  names: readonly Name[],
  judge: (name: Name) => NameVerdict,
): NameVerdict | undefined {
  for (const name of names) {
    const verdict = judge(name);
    if (!verdict.allowed) return verdict;
  }
  return undefined;
}

function judgeCommonName(rules: NameRules, domains: readonly string[], name: string): NameVerdict {
  if (name === '') return ALLOWED;
  const kinds = rules.cn_validations;
  if (kinds.includes('disabled')) return ALLOWED;
  const allowed =
    kinds.includes(name.includes('@') ? 'email' : 'hostname') && isAdmitted(rules, domains, name);
  return allowed ? ALLOWED : refuse(`common name ${show(name)} not allowed by this role`);
}

function judgeDnsName(rules: NameRules, domains: readonly string[], name: string): NameVerdict {
  // An address within a dNSName would be judged by its domain, and state another name than that.
  const allowed = isAscii(name) && !name.includes('@') && isAdmitted(rules, domains, name);
  return allowed
    ? ALLOWED
    : refuse(`subject alternate name ${show(name)} not allowed by this role`);
}

function judgeEmail(rules: NameRules, domains: readonly string[], name: string): NameVerdict {
  const allowed =
    isLocalPart(name.split('@', 1)[0] ?? '') &&
    isAscii(name) &&
    name.includes('@') &&
    isAdmitted(rules, domains, name);
  return allowed ? ALLOWED : refuse(`email address ${show(name)} not allowed by this role`);
}

/** A name taken apart for the rules. */
interface Judged {
  /** As asked for, its labels of other scripts in ASCII. */
  whole: string;
  /** Without the address part before `@`, and without the label that has the `*`. */
  reduced: string;
  isEmail: boolean;
  isWildcard: boolean;
}

function isAdmitted(rules: NameRules, domains: readonly string[], name: string): boolean {
  const judged = takeApart(rules, name);
  if (!judged) return false;
  return (
    rules.allow_any_name ||
    (rules.allow_localhost && isLocal(rules, judged)) ||
    domains.some((domain) => isWithin(rules, judged, domain))
  );
}

/** @returns `undefined` when the form of the name is refused, whatever the domain */
function takeApart(rules: NameRules, name: string): Judged | undefined {
  if (name === '' || CONTROL.test(name)) return undefined;
  const at = name.indexOf('@');
  const isEmail = at >= 0;
  if (isEmail && rules.enforce_hostnames && !isLocalPart(name.slice(0, at))) return undefined;
  if (isEmail && name.includes('*')) return undefined;
  const host = name.slice(at + 1);
  if (host.includes('@') || host === '') return undefined;

  const isWildcard = host.includes('*');
  if (isWildcard && !isWildcardForm(rules, host)) return undefined;
  // One "*", in the first label: what is beneath that label is judged.
  const reduced = isWildcard ? host.split('.').slice(1).join('.') : host;

  const ascii = reduced === '' ? '' : toAsciiHostName(reduced);
  if (rules.enforce_hostnames && ascii === undefined) return undefined;
  return {
    whole: ascii === undefined ? name : name.slice(0, name.length - reduced.length) + ascii,
    reduced: ascii ?? reduced,
    isEmail,
    isWildcard,
  };
}

const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** The dot-atom of RFC 5322 §3.2.3, up to the length of RFC 5321 §4.5.3.1.1. */
function isLocalPart(text: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}$/.test(text);
}

function isWildcardForm(rules: NameRules, host: string): boolean {
  // A role without wildcards has none under any other rule either.
  if (!rules.allow_wildcard_certificates) return false;
  if (host.indexOf('*') !== host.lastIndexOf('*')) return false;
  const firstLabel = host.split('.', 1)[0] ?? '';
  if (!firstLabel.includes('*')) return false;
  return !rules.enforce_hostnames || isWildcardLabel(firstLabel);
}

function isLocal(rules: NameRules, { reduced, isWildcard }: Judged): boolean {
  return ['localhost', 'localdomain'].some(
    (local) =>
      (reduced === local && (!isWildcard || rules.allow_subdomains)) ||
      (rules.allow_subdomains && reduced.endsWith(`.${local}`)),
  );
}

function isWithin(rules: NameRules, name: Judged, domain: string): boolean {
  const { whole, reduced, isEmail, isWildcard } = name;
  if (rules.allow_bare_domains) {
    const wanted = domain.toLowerCase();
    if (whole.toLowerCase() === wanted) return true;
    if (isEmail && reduced.toLowerCase() === wanted) return true;
  }
  // `*.example.com` covers only names beneath example.com, so this rule admits it and the one
  // above does not.
  if (rules.allow_subdomains) {
    if (reduced.endsWith(`.${domain}`)) return true;
    if (isWildcard && reduced === domain) return true;
  }
  return rules.allow_glob_domains && domain.includes('*') && matchGlob(domain, whole);
}

function judgeSerialNumber(rules: NameRules, serial: string): NameVerdict {
  if (serial === '' || matchesAny(rules.allowed_serial_numbers, serial)) return ALLOWED;
  return refuse(`serial_number ${show(serial)} not allowed by this role`);
}

function judgeUserId(rules: NameRules, id: string): NameVerdict {
  const lower = id.toLowerCase();
  const allowed = rules.allowed_user_ids.some(
    (entry) => entry !== '' && (entry.toLowerCase() === lower || matchGlob(entry, id)),
  );
  return allowed ? ALLOWED : refuse(`user_id ${show(id)} is not allowed by this role`);
}

function judgeIp(rules: NameRules, ip: string, source: NameSource): NameVerdict {
  if (!isIpAddress(ip)) return refuse(`the value "${show(ip)}" is not a valid IP address`);
  if (rules.allow_ip_sans) return ALLOWED;
  return refuse(
    `IP Subject Alternative Names are not allowed in this role, but was provided via ${source}`,
  );
}

/** An IPv4 or IPv6 address; one with a zone (`fe80::1%eth0`) means nothing to others. */
export function isIpAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%');
}

function judgeUri(
  rules: NameRules,
  allowed: readonly string[],
  uri: string,
  source: NameSource,
): NameVerdict {
  if (rules.allowed_uri_sans.length === 0) {
    return refuse(
      `URI Subject Alternative Names are not allowed in this role, but were provided via ${source}`,
    );
  }
  if (!isUri(uri)) {
    return refuse(`the provided URI Subject Alternative Name "${show(uri)}" is not a valid URI`);
  }
  if (matchesAny(allowed, uri)) return ALLOWED;
  return refuse(
    `URI Subject Alternative Names were provided via ${source} which are not valid for this role: ${show(uri)}`,
  );
}

/**
 * Absolute, with a scheme, of the characters RFC 3986 §2 has. Without `.` and `..` segments:
 * `/web/../admin` would fit the pattern `/web/*` and lead elsewhere.
 */
export function isUri(text: string): boolean {
  return (
    /^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/.test(text) &&
    URL.canParse(text) &&
    !climbs(text)
  );
}

function judgeOtherSan(rules: NameRules, { oid, value }: OtherSan): NameVerdict {
  if (rules.allowed_other_sans.length === 1 && rules.allowed_other_sans[0] === '*') return ALLOWED;
  const sameType = rules.allowed_other_sans
    .map(parseOtherSan)
    .filter((entry) => 'oid' in entry)
    .filter((entry) => entry.oid === oid);
  if (sameType.length === 0) return refuse(`other SAN OID ${oid} not allowed by this role`);
  if (sameType.some((entry) => matchGlob(entry.value, value))) return ALLOWED;
  return refuse(`other SAN ${show(value)} not allowed for OID ${oid} by this role`);
}

function climbs(text: string): boolean {
  return text.split(/[/?#]/).some((segment) => /^(?:\.|%2e){1,2}$/i.test(segment));
}

/** Says whether the text is listed, or fits a listed pattern. */
function matchesAny(entries: readonly string[], text: string): boolean {
  return entries.some((entry) => entry !== '' && matchGlob(entry, text));
}

/**
 * Entries with their templates filled in. One that cannot be, or whose value from the caller's
 * identity could act as a pattern or climb out of a path, matches nothing.
 */
function expandEntries(
  entries: readonly string[],
  templates: boolean,
  identity: IdentityFacts | undefined,
): string[] {
  const expanded: string[] = [];
  for (const entry of entries) {
    const text = templates && isTemplate(entry) ? expandEntry(entry, identity) : entry;
    if (text === undefined || text === '') continue;
    expanded.push(isAscii(text) ? text : (toAsciiHostName(text) ?? text));
  }
  return expanded;
}

function expandEntry(entry: string, identity: IdentityFacts | undefined): string | undefined {
  const text = expandTemplate(entry, identity, (value) => !/[*\p{Cc}]/u.test(value));
  return text === undefined || climbs(text) ? undefined : text;
}

function refuse(because: string): NameVerdict {
  return { allowed: false, because };
}

/** What the client sent, short enough for a message. */
function show(text: string): string {
  return text.length > 256 ? `${text.slice(0, 256)}…` : text;
}
