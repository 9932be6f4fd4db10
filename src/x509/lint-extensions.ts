/** What RFC 5280 says of each extension. */

import { Failure } from '../core/failure.ts';
import { memoizeWeak } from '../core/memoize-weak.ts';
import type { TbsCertificate } from './certificate.ts';
import { parseCertificatePolicies } from './certificate-policies.ts';
import { TAG } from './der.ts';
import { children, expect, readDer, requireWellFormed } from './der-reader.ts';
import { parseAuthorityInfoAccess, parseDistributionPoints } from './extension-urls.ts';
import {
  type Extension,
  findExtension,
  parseAuthorityKeyIdentifier,
  parseBasicConstraints,
  parseSubjectKeyIdentifier,
} from './extensions.ts';
import { type ParsedAltNames, parseSubjectAltName } from './general-names.ts';
import { findImpossibleUsages, parseExtKeyUsage, parseKeyUsage } from './key-usages.ts';
import { describePublicKey } from './keys.ts';
import { attempt, type Report } from './lint-findings.ts';
import { parseNameConstraints } from './name-constraints.ts';
import { EXT_KEY_USAGE_OID, EXTENSION_OID, NETSCAPE_TYPE_OID } from './oids.ts';

export function isCa(extensions: readonly Extension[]): boolean {
  const constraints = findExtension(extensions, EXTENSION_OID.basicConstraints);
  try {
    return constraints !== undefined && parseBasicConstraints(constraints.value).ca;
  } catch {
    return false;
  }
}

type Name = keyof typeof EXTENSION_OID;

const NAMES = new Map<string, Name>(
  Object.entries(EXTENSION_OID).map(([name, oid]) => [oid, name as Name]),
);

/** Extensions that must, or must not, be critical: §4.2.1 and §4.2.2, each under its own heading. */
const MUST_BE_CRITICAL = new Set<Name>([
  'nameConstraints',
  'policyConstraints',
  'inhibitAnyPolicy',
]);

const MUST_NOT_BE_CRITICAL = new Set<Name>([
  'authorityKeyIdentifier',
  'subjectKeyIdentifier',
  'authorityInfoAccess',
  'subjectInfoAccess',
  'freshestCRL',
]);

/** Extensions that belong to CAs only. */
const CA_EXTENSIONS = new Set<Name>([...MUST_BE_CRITICAL, 'policyMappings']);

type Rule = (extension: Extension, tbs: TbsCertificate, report: Report) => void;

const RULES: { readonly [name in Name]?: Rule } = {
  subjectAltName: lintAltNames,
  basicConstraints: ({ value }) => parseBasicConstraints(value),
  keyUsage: lintKeyUsage,
  extKeyUsage: lintExtKeyUsage,
  subjectKeyIdentifier: ({ value }) => parseSubjectKeyIdentifier(value),
  authorityKeyIdentifier: ({ value }) => parseAuthorityKeyIdentifier(value),
  certificatePolicies: lintPolicies,
  nameConstraints: lintNameConstraints,
  cRLDistributionPoints: lintDistributionPoints,
  freshestCRL: lintDistributionPoints,
  authorityInfoAccess: lintInfoAccess,
};

/** Extensions whose rule looks at nothing but the extension. */
const SELF_CONTAINED = new Set<Name>([
  'extKeyUsage',
  'authorityKeyIdentifier',
  'certificatePolicies',
  'cRLDistributionPoints',
  'freshestCRL',
  'authorityInfoAccess',
]);

/** Those that were found in order, by identity: what is the same for all leaves is looked at once. */
const soundExtensions = new WeakSet<Extension>();

export function lintExtensions(tbs: TbsCertificate, report: Report): void {
  const seen = new Set<string>();
  const ca = isCa(tbs.extensions);
  for (const extension of tbs.extensions) {
    const { oid: type, critical } = extension;
    if (seen.has(type)) report(`the extension ${type} must not come twice`);
    seen.add(type);
    const name = NAMES.get(type);
    if (name) lintPlace(name, critical, ca, report);
    if (type === NETSCAPE_TYPE_OID && !ca) lintNetscapeType(extension, report);
    if (soundExtensions.has(extension)) continue;
    const rule = (name && RULES[name]) ?? lintUnknown;
    let isSound = true;
    const note: Report = (problem) => {
      isSound = false;
      report(problem);
    };
    const what = name && rule !== lintUnknown ? name : `the extension ${type}`;
    attempt(note, what, () => rule(extension, tbs, note));
    if (isSound && name && SELF_CONTAINED.has(name)) soundExtensions.add(extension);
  }
  lintCa(tbs, ca, report);
}

function lintPlace(name: Name, critical: boolean, ca: boolean, report: Report): void {
  if (MUST_BE_CRITICAL.has(name) && !critical) report(`${name} must be critical`);
  if (MUST_NOT_BE_CRITICAL.has(name) && critical) report(`${name} must not be critical`);
  if (CA_EXTENSIONS.has(name) && !ca) report(`${name} is for authorities only`);
}

/** SSL CA, S/MIME CA and object signing CA. */
const NETSCAPE_AUTHORITY = 0x07;

function lintNetscapeType({ value }: Extension, report: Report): void {
  const bits = value.at(-1) ?? 0;
  if ((bits & NETSCAPE_AUTHORITY) !== 0) {
    report("Netscape's certificate type must not name an authority in a certificate of none");
  }
}

/** §4.2.1.1 to §4.2.1.3, §4.2.1.9: what every CA has. */
function lintCa(tbs: TbsCertificate, ca: boolean, report: Report): void {
  const has = (type: string): boolean => findExtension(tbs.extensions, type) !== undefined;
  const selfIssued = Buffer.compare(tbs.issuer, tbs.subject) === 0;
  if (!has(EXTENSION_OID.authorityKeyIdentifier) && !(ca && selfIssued)) {
    report('authorityKeyIdentifier must be there');
  }
  if (!ca) return;
  if (!has(EXTENSION_OID.subjectKeyIdentifier)) {
    report('subjectKeyIdentifier must be there for an authority');
  }
  const constraints = findExtension(tbs.extensions, EXTENSION_OID.basicConstraints);
  if (!constraints?.critical) report('basicConstraints must be critical for an authority');
  const usage = findExtension(tbs.extensions, EXTENSION_OID.keyUsage);
  if (!usage) report('keyUsage must be there for an authority');
}

/** §4.2.1.7; of the period of use of a private key RFC 3280 §4.2.1.4 says so. */
const NEVER_EMPTY: ReadonlySet<string> = new Set([EXTENSION_OID.issuerAltName, '2.5.29.16']);

/** An extension we know nothing of is passed on; it must at least be one whole value. */
function lintUnknown({ oid, value }: Extension, _tbs: TbsCertificate, report: Report): void {
  const whole = readDer(value);
  requireWellFormed(whole);
  if (NEVER_EMPTY.has(oid) && whole.content.length === 0) {
    report(`the extension ${oid} must not be empty`);
  }
}

/** Most leaves have the same extension of their role's. */
const usagesOf = memoizeWeak(({ value }: Extension) => parseKeyUsage(value));

/** §4.2.1.3 */
function lintKeyUsage(extension: Extension, tbs: TbsCertificate, report: Report): void {
  const { value } = extension;
  const usages = usagesOf(extension);
  if (usages.length === 0) report('keyUsage must name at least one usage');
  for (const usage of impossibleUsages(usages, tbs)) {
    report(`keyUsage must not name ${usage} for a key that only signs`);
  }
  const ca = isCa(tbs.extensions);
  if (usages.includes('CertSign') && !ca) {
    report('CertSign is for authorities only');
  }
  if (ca && !usages.includes('CertSign')) {
    const { pathLength } = parseBasicConstraints(
      findExtension(tbs.extensions, EXTENSION_OID.basicConstraints)?.value ?? value,
    );
    if (pathLength !== undefined) report('a path length needs the key usage CertSign');
  }
}

/** RFC 9881 §5, RFC 9909. What the key is that cannot be read is said elsewhere. */
function impossibleUsages(usages: readonly string[], tbs: TbsCertificate): string[] {
  try {
    return findImpossibleUsages(describePublicKey(tbs.subjectPublicKeyInfo).key_type, usages);
  } catch (error) {
    if (error instanceof Failure) return [];
    throw error;
  }
}

/** §4.2.1.12 */
function lintExtKeyUsage(
  { value, critical }: Extension,
  _tbs: TbsCertificate,
  report: Report,
): void {
  const purposes = parseExtKeyUsage(value);
  if (new Set(purposes).size !== purposes.length)
    report('extKeyUsage must not name a purpose twice');
  if (critical && purposes.includes(EXT_KEY_USAGE_OID.Any)) {
    report('extKeyUsage must not be critical when it allows any purpose');
  }
}

/** §4.2.1.6, and RFC 1034 §3.5 for host names. */
function lintAltNames({ value }: Extension, _tbs: TbsCertificate, report: Report): void {
  const names: ParsedAltNames = parseSubjectAltName(value);
  for (const name of names.dns) {
    if (name.length > 254)
      report(`the DNS name "${name.slice(0, 32)}…" has more than 253 characters`);
    else if (/[^\x21-\x7e]/.test(name))
      report(`the DNS name "${name}" has blanks or control characters`);
    else if (name.split('.').some((label) => label.length > 63)) {
      report(`the DNS name "${name}" has a label of more than 63 characters`);
    } else if (/(?:^\.)|\.\./.test(name)) report(`the DNS name "${name}" has an empty label`);
  }
  for (const address of names.email) {
    if (!/^[\x21-\x7e]+@[\x21-\x3f\x41-\x7e]+$/.test(address)) {
      report(`the email address "${address.slice(0, 256)}" is no mailbox`);
    }
  }
  for (const uri of names.uri) {
    if (!isAbsoluteUri(uri)) report(`the URI "${uri.slice(0, 256)}" is not absolute`);
  }
}

/** Scheme and something after it, in the characters of RFC 3986 and those people write instead. */
export const isAbsoluteUri = (text: string): boolean =>
  /^[A-Za-z][A-Za-z0-9+.-]*:[\x21-\x7e]+$/.test(text);

/** §4.2.1.4 */
function lintPolicies({ value }: Extension, _tbs: TbsCertificate, report: Report): void {
  const policies = parseCertificatePolicies(value).map((policy) => policy.oid);
  if (new Set(policies).size !== policies.length) {
    report('certificatePolicies must not name a policy twice');
  }
}

/** §4.2.1.10 */
function lintNameConstraints({ value }: Extension, _tbs: TbsCertificate, report: Report): void {
  parseNameConstraints(value);
  const lists = children(expect(readDer(value), TAG.sequence));
  if (lists.length === 0 || lists.some((list) => list.content.length === 0)) {
    report('nameConstraints must not be empty');
  }
}

/** §4.2.1.13 */
function lintDistributionPoints({ value }: Extension, _tbs: TbsCertificate, report: Report): void {
  for (const url of parseDistributionPoints(value)) {
    if (!isAbsoluteUri(url)) report(`the distribution point "${url.slice(0, 256)}" is no URL`);
  }
  if (children(readDer(value)).length === 0)
    report('a list of distribution points must not be empty');
}

/** §4.2.2.1 */
function lintInfoAccess({ value }: Extension, _tbs: TbsCertificate, report: Report): void {
  const { ocsp, caIssuers } = parseAuthorityInfoAccess(value);
  for (const url of [...ocsp, ...caIssuers]) {
    if (!isAbsoluteUri(url)) report(`the access location "${url.slice(0, 256)}" is no URL`);
  }
  if (children(readDer(value)).length === 0) report('authorityInfoAccess must not be empty');
}
