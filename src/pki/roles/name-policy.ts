import { isIP } from 'node:net';
import { judgeAddress } from '../../config/cidrs.ts';
import { parseUrl } from '../../core/domain-names.ts';
import type { IdentityFacts } from '../../core/identity-template.ts';
import { isAscii } from '../fields/host-name.ts';
import type { OtherSan } from '../fields/other-san.ts';
import { compileRules, hasDotSegments, isListed } from './compiled-rules.ts';
import { isAdmitted, isLocalPart, type NameContext } from './domain-policy.ts';
import type { NameRules } from './role.ts';

type NameVerdict = { allowed: true } | { allowed: false; because: string };

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

/** Where the alternative names came from, as refusals call it. */
export type NameSource = 'the API' | 'CSR';

const ALLOWED: NameVerdict = { allowed: true };

/**
 * The one place where names are judged, for every way to a certificate. All of the names have
 * to be allowed. Takes time in proportion to the names and, once, to the role.
 *
 * @param identity fills in templates; undefined when the caller has no entity, and then no
 *   templated entry matches anything
 * @param source where the alternative names came from, for the refusal's text
 * @see P-32
 */
export function judgeNames(
  rules: NameRules,
  names: RequestedNames,
  identity?: IdentityFacts,
  source: NameSource = 'the API',
): NameVerdict {
  const context: SourcedNameContext = {
    rules,
    compiled: compileRules(rules, identity),
    budget: { left: MOST_COMPARISONS },
    source,
  };
  const refusal =
    findRefusal([names.common_name], (name) => judgeCommonName(context, name)) ??
    findRefusal([names.serial_number], (serial) => judgeSerialNumber(context, serial)) ??
    findRefusal(names.user_ids, (id) => judgeUserId(context, id)) ??
    findRefusal(names.dns, (name) => judgeDnsName(context, name)) ??
    findRefusal(names.email, (name) => judgeEmail(context, name)) ??
    findRefusal(names.ip, (ip) => judgeIp(context, ip)) ??
    findRefusal(names.uri, (uri) => judgeUri(context, uri)) ??
    findRefusal(names.other, (other) => judgeOtherSan(context, other));
  if (refusal && context.budget.left < 0) {
    return refuse('too many names at once for the patterns of this role: ask for fewer');
  }
  return refusal ?? ALLOWED;
}

/**
 * Comparisons with patterns that one request is worth: some tenths of a second. Patterns are mostly
 * told apart by what is written in them, so what is honest never comes near it.
 */
const MOST_COMPARISONS = 2_000_000;

/** Where names came from is said in what refuses some of them. */
interface SourcedNameContext extends NameContext {
  source: NameSource;
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

/** @see P-40 */
function judgeCommonName(context: NameContext, name: string): NameVerdict {
  if (name === '') return ALLOWED;
  const kinds = context.rules.cn_validations;
  if (kinds.includes('disabled')) return ALLOWED;
  const allowed =
    kinds.includes(name.includes('@') ? 'email' : 'hostname') && isAdmitted(context, name);
  return allowed ? ALLOWED : refuse(`common name ${show(name)} not allowed by this role`);
}

/** @see P-41 */
function judgeDnsName(context: NameContext, name: string): NameVerdict {
  // An address within a dNSName would be judged by its domain, and state another name than that.
  const allowed = isAscii(name) && !name.includes('@') && isAdmitted(context, name);
  return allowed
    ? ALLOWED
    : refuse(`subject alternate name ${show(name)} not allowed by this role`);
}

function judgeEmail(context: NameContext, name: string): NameVerdict {
  const allowed =
    isLocalPart(name.split('@', 1)[0] ?? '') &&
    isAscii(name) &&
    name.includes('@') &&
    isAdmitted(context, name);
  return allowed ? ALLOWED : refuse(`email address ${show(name)} not allowed by this role`);
}

/** @see P-45 */
function judgeSerialNumber({ compiled, budget }: NameContext, serial: string): NameVerdict {
  if (serial === '' || compiled.serial_numbers.has(serial, budget)) return ALLOWED;
  return refuse(`serial_number ${show(serial)} not allowed by this role`);
}

function judgeUserId({ compiled, budget }: NameContext, id: string): NameVerdict {
  const { folded_user_ids, user_ids } = compiled;
  const allowed = folded_user_ids.has(id.toLowerCase()) || user_ids.has(id, budget);
  return allowed ? ALLOWED : refuse(`user_id ${show(id)} is not allowed by this role`);
}

/** @see P-42 */
function judgeIp({ rules, source }: SourcedNameContext, ip: string): NameVerdict {
  if (!isIpAddress(ip)) return refuse(`the value "${show(ip)}" is not a valid IP address`);
  if (!rules.allow_ip_sans) {
    return refuse(
      `IP Subject Alternative Names are not allowed in this role, but was provided via ${source}`,
    );
  }
  if (judgeAddress(rules.allowed_ip_sans_cidr, ip)) return ALLOWED;
  return refuse(`the IP address ${ip} is not allowed by allowed_ip_sans_cidr of this role`);
}

/** An IPv4 or IPv6 address; one with a zone (`fe80::1%eth0`) means nothing to others. */
function isIpAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%');
}

/** @see P-43 */
function judgeUri(
  { rules, compiled, budget, source }: SourcedNameContext,
  uri: string,
): NameVerdict {
  if (rules.allowed_uri_sans.length === 0) {
    return refuse(
      `URI Subject Alternative Names are not allowed in this role, but were provided via ${source}`,
    );
  }
  if (!isUri(uri)) {
    return refuse(`the provided URI Subject Alternative Name "${show(uri)}" is not a valid URI`);
  }
  if (isListed(compiled.uris, uri, budget)) return ALLOWED;
  return refuse(
    `URI Subject Alternative Names were provided via ${source} which are not valid for this role: ${show(uri)}`,
  );
}

/**
 * Absolute, with a scheme, of the characters RFC 3986 §2 has. Without `.` and `..` segments:
 * `/web/../admin` would fit the pattern `/web/*` and lead elsewhere.
 */
function isUri(text: string): boolean {
  return (
    /^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/.test(text) &&
    parseUrl(text) !== undefined &&
    !hasDotSegments(text)
  );
}

/** @see P-44 */
function judgeOtherSan(
  { rules, compiled, budget }: NameContext,
  { oid, value }: OtherSan,
): NameVerdict {
  if (rules.allowed_other_sans.length === 1 && rules.allowed_other_sans[0] === '*') return ALLOWED;
  const values = compiled.other.get(oid);
  if (!values) return refuse(`other SAN OID ${oid} not allowed by this role`);
  if (values.has(value, budget)) return ALLOWED;
  return refuse(`other SAN ${show(value)} not allowed for OID ${oid} by this role`);
}

function refuse(because: string): NameVerdict {
  return { allowed: false, because };
}

/** What the client sent, short enough for a message. */
function show(text: string): string {
  return text.length > 256 ? `${text.slice(0, 256)}…` : text;
}
