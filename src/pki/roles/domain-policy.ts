import type { Budget } from '../../core/pattern-set.ts';
import { isWildcardLabel, toAsciiHostName } from '../fields/host-name.ts';
import { type CompiledRules, type DomainRules, isBeneath } from './compiled-rules.ts';
import type { NameRules } from './role.ts';

/** What names are judged by. */
export interface NameContext {
  rules: NameRules;
  compiled: CompiledRules;
  budget: Budget;
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

/** @see P-33 */
export function isAdmitted({ rules, compiled, budget }: NameContext, name: string): boolean {
  const judged = splitName(rules, name);
  if (!judged) return false;
  return (
    rules.allow_any_name ||
    (rules.allow_localhost && isLocal(rules, judged)) ||
    compiled.domains.some((domains) => isWithin(rules, judged, domains, budget))
  );
}

/** @returns `undefined` when the form of the name is refused, whatever the domain */
function splitName(rules: NameRules, name: string): Judged | undefined {
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
export function isLocalPart(text: string): boolean {
  return /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}$/.test(text);
}

/** @see P-38 */
function isWildcardForm(rules: NameRules, host: string): boolean {
  // A role without wildcards has none under any other rule either.
  if (!rules.allow_wildcard_certificates) return false;
  if (host.indexOf('*') !== host.lastIndexOf('*')) return false;
  const firstLabel = host.split('.', 1)[0] ?? '';
  if (!firstLabel.includes('*')) return false;
  return !rules.enforce_hostnames || isWildcardLabel(firstLabel);
}

/** @see P-34 */
function isLocal(rules: NameRules, { reduced, isWildcard }: Judged): boolean {
  return ['localhost', 'localdomain'].some(
    (local) =>
      (reduced === local && (!isWildcard || rules.allow_subdomains)) ||
      (rules.allow_subdomains && reduced.endsWith(`.${local}`)),
  );
}

/** @see P-35, P-36, P-37 */
function isWithin(
  rules: NameRules,
  { whole, reduced, isEmail, isWildcard }: Judged,
  domains: DomainRules,
  budget: Budget,
): boolean {
  if (rules.allow_bare_domains) {
    if (domains.bare.has(whole.toLowerCase())) return true;
    if (isEmail && domains.bare.has(reduced.toLowerCase())) return true;
  }
  // `*.example.com` covers only names beneath example.com, so this rule admits it and the one
  // above does not.
  if (rules.allow_subdomains) {
    if (isBeneath(domains, reduced)) return true;
    if (isWildcard && domains.domains.has(reduced)) return true;
  }
  return rules.allow_glob_domains && domains.globs.has(whole, budget);
}
