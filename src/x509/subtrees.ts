/**
 * Judging names by the constraints above them (RFC 5280 §4.2.1.10). Subtrees are kept by what they
 * begin with, so that a certificate of thousands of names under an authority of thousands of
 * subtrees takes time in proportion to both together, not to one times the other.
 */

import { type AddressBlock, AddressBlocks } from '../core/address-blocks.ts';
import { domainInAscii, isConvertible } from '../core/domain-names.ts';
import { remembered } from '../core/remembered.ts';
import { GENERAL_NAME_TAG, type OtherName } from './general-names.ts';
import { parseIpAddress, parseIpBlock } from './ip-addresses.ts';
import type { NameConstraints } from './name-constraints.ts';
import { findHostInSubject, findLabelInSubject } from './subject-hosts.ts';

/** Names as a certificate holds them, to be judged against the constraints above it. */
export interface ConstrainedNames {
  /** Where there is no DNS name, clients take one that reads like a host for one. */
  common_name?: string;
  /** Servers may present it: then a common name of one label is a host's, too. */
  is_for_servers?: boolean;
  dns: readonly string[];
  email: readonly string[];
  ip: readonly string[];
  uri: readonly string[];
  other?: readonly OtherName[];
  /** GeneralNames that are not taken apart, whole. */
  unknown?: readonly Uint8Array[];
}

/** Constraints as they are judged by. */
export interface JudgedConstraints extends NameConstraints {
  /** Tags of those kinds of subtrees that are not taken apart. */
  other_kinds?: readonly number[];
}

export type ConstraintVerdict = { allowed: true } | { allowed: false; because: string };

/** `unclear` refuses either way: a name that cannot be understood is neither permitted nor safe from exclusion. */
type Match = 'yes' | 'no' | 'unclear';

/** What a name was found in, as the constraint has it. */
interface Found {
  match: Match;
  subtree: string;
}

/** Looks a name up among subtrees. */
type Lookup = (name: string) => Found;

interface Kind {
  label: string;
  namesOf(names: ConstrainedNames): readonly string[];
  permitted: keyof NameConstraints;
  excluded: keyof NameConstraints;
  index(subtrees: readonly string[]): Lookup;
}

const KINDS: readonly Kind[] = [
  {
    label: 'DNS name',
    namesOf: hostsOf,
    permitted: 'permitted_dns_domains',
    excluded: 'excluded_dns_domains',
    index: indexDomains,
  },
  {
    label: 'IP address',
    namesOf: addressesOf,
    permitted: 'permitted_ip_ranges',
    excluded: 'excluded_ip_ranges',
    index: indexRanges,
  },
  {
    label: 'email address',
    namesOf: ({ email }) => email,
    permitted: 'permitted_email_addresses',
    excluded: 'excluded_email_addresses',
    index: indexMailboxes,
  },
  {
    label: 'internationalized email address',
    namesOf: ({ other = [] }) =>
      other.filter(({ oid }) => oid === SMTP_UTF8_MAILBOX).map(({ value }) => value),
    permitted: 'permitted_email_addresses',
    excluded: 'excluded_email_addresses',
    index: indexUtf8Mailboxes,
  },
  {
    label: 'URI',
    namesOf: ({ uri }) => uri,
    permitted: 'permitted_uri_domains',
    excluded: 'excluded_uri_domains',
    index: indexUriHosts,
  },
];

const indexConstraints = remembered((constraints: JudgedConstraints) =>
  KINDS.map((kind) => ({ kind, ...indexKind(kind, constraints) })),
);

function indexKind(kind: Kind, constraints: NameConstraints) {
  const permitted = constraints[kind.permitted];
  const excluded = constraints[kind.excluded];
  return {
    permits: permitted.length > 0 ? kind.index(permitted) : undefined,
    excludes: excluded.length > 0 ? kind.index(excluded) : undefined,
  };
}

/**
 * Says whether an authority's constraints let every name pass: none within an excluded subtree,
 * each within a permitted one where its kind has any. A name of a kind whose subtrees are not taken
 * apart is refused; the subject as a whole is left to those who verify it.
 */
export function judgeNameConstraints(
  constraints: JudgedConstraints,
  names: ConstrainedNames,
): ConstraintVerdict {
  const unjudged = (constraints.other_kinds ?? []).some((kind) => hasNameOf(names, kind));
  if (unjudged) {
    return { allowed: false, because: 'there are constraints on a kind of name it has' };
  }
  for (const { kind, permits, excludes } of indexConstraints(constraints)) {
    if (!permits && !excludes) continue;
    for (const name of kind.namesOf(names)) {
      const exclusion = excludes?.(name);
      if (exclusion && exclusion.match !== 'no') {
        const because = `${kind.label} "${name}" is excluded by constraint "${exclusion.subtree}"`;
        return { allowed: false, because };
      }
      if (permits && permits(name).match !== 'yes') {
        const because = `${kind.label} "${name}" is not permitted by any constraint`;
        return { allowed: false, because };
      }
    }
  }
  return { allowed: true };
}

/** id-on-SmtpUTF8Mailbox: what constrains e-mail addresses constrains it as well (RFC 9598 §6). */
const SMTP_UTF8_MAILBOX = '1.3.6.1.5.5.7.8.9';

function hasNameOf({ other = [], unknown = [] }: ConstrainedNames, kind: number): boolean {
  if (kind === GENERAL_NAME_TAG.otherName && other.length > 0) return true;
  return unknown.some(([tag]) => tag === kind);
}

function hostsOf({ common_name = '', is_for_servers, dns }: ConstrainedNames): readonly string[] {
  if (dns.length > 0) return dns;
  const label = is_for_servers ? findLabelInSubject(common_name) : undefined;
  const host = findHostInSubject(common_name) ?? label;
  return host === undefined ? dns : [host];
}

/** Where there is no address, a common name that is one is taken for it by some. */
function addressesOf({ common_name = '', ip }: ConstrainedNames): readonly string[] {
  return ip.length === 0 && parseIpAddress(common_name) ? [common_name] : ip;
}

const NOWHERE: Found = { match: 'no', subtree: '' };

/** By the form in which they are compared; of several the first stands for all. */
function keyed(
  subtrees: readonly string[],
  keyOf: (subtree: string) => string | undefined,
): Map<string, string> {
  const known = new Map<string, string>();
  for (const subtree of subtrees) {
    const key = keyOf(subtree);
    if (key !== undefined && !known.has(key)) known.set(key, subtree);
  }
  return known;
}

/** Finds the entry that a name ends with, from one of its dots on, dot included. */
function endsOf(entries: ReadonlyMap<string, string>): (name: string) => string | undefined {
  let longest = 0;
  for (const { length } of entries.keys()) longest = Math.max(longest, length);
  return (name) => {
    let dot = name.indexOf('.', Math.max(0, name.length - longest));
    for (; dot >= 0; dot = name.indexOf('.', dot + 1)) {
      const found = entries.get(name.slice(dot));
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** A domain holds itself and what is beneath; with a leading dot only that, as many authorities write it. */
function indexDomains(subtrees: readonly string[]): Lookup {
  const whole = keyed(subtrees, (domain) => domain.toLowerCase());
  const dotted = keyed(subtrees, (domain) => {
    const lower = domain.toLowerCase();
    return lower.startsWith('.') ? lower : `.${lower}`;
  });
  const findEnd = endsOf(dotted);
  // The wildcard also stands for hosts inside the subtree: *.example.com covers a.example.com.
  const parents = keyed(subtrees, (domain) => {
    const base = domain.replace(/^\./, '').toLowerCase();
    return base.includes('.') ? base.slice(base.indexOf('.') + 1) : undefined;
  });
  const everything = whole.get('');
  return (name) => {
    if (!isUnderstood(name)) return { match: 'unclear', subtree: subtrees[0] ?? '' };
    const lower = name.toLowerCase();
    const host = lower.endsWith('.') ? lower.slice(0, -1) : lower;
    const within = everything ?? findWhole(whole, host) ?? findEnd(host);
    // With the root's dot some verifiers find it within, others do not.
    if (within !== undefined) {
      return { match: name.endsWith('.') ? 'unclear' : 'yes', subtree: within };
    }
    const covered = parents.get(baseOf(lower));
    return covered === undefined ? NOWHERE : { match: 'unclear', subtree: covered };
  };
}

/**
 * Of a `*` beyond the first label, or a second one, nobody can say what it covers; nor what a name in
 * another script comes to that is too long to be converted.
 */
function isUnderstood(name: string): boolean {
  const star = name.indexOf('*');
  if (star < 0) return isConvertible(name);
  const dot = name.indexOf('.');
  return star < dot && star === name.lastIndexOf('*') && !NOT_IN_PATTERN.test(name);
}

const NOT_IN_PATTERN = /[^a-z0-9_.*-]/i;

/** What follows a first label with a `*`; empty without one. */
function baseOf(lower: string): string {
  const dot = lower.indexOf('.');
  return dot >= 0 && lower.lastIndexOf('*', dot) >= 0 ? lower.slice(dot + 1) : '';
}

function findWhole(whole: ReadonlyMap<string, string>, host: string): string | undefined {
  return host.startsWith('.') ? undefined : whole.get(host);
}

function indexRanges(subtrees: readonly string[]): Lookup {
  let unreadable: string | undefined;
  const blocks: [AddressBlock, string][] = [];
  for (const subtree of subtrees) {
    const block = parseIpBlock(subtree);
    if (block) blocks.push([block, subtree]);
    else unreadable ??= subtree;
  }
  const ranges = new AddressBlocks(blocks);
  return (address) => {
    const bytes = parseIpAddress(address);
    if (!bytes) return { match: 'unclear', subtree: subtrees[0] ?? '' };
    const subtree = ranges.find({ bytes, prefix: 8 * bytes.length });
    if (subtree !== undefined) return { match: 'yes', subtree };
    return unreadable === undefined ? NOWHERE : { match: 'unclear', subtree: unreadable };
  };
}

const isDotted = (subtree: string): boolean => subtree.startsWith('.');

/** Hosts, and `.domain` for those beneath one. */
function indexHosts(subtrees: readonly string[]): Lookup {
  const known = keyed(subtrees, (subtree) => subtree.toLowerCase());
  const everything = known.get('');
  const findEnd = endsOf(keyed(subtrees.filter(isDotted), (subtree) => subtree.toLowerCase()));
  return (host) => {
    const subtree = everything ?? findWhole(known, host) ?? findEnd(host);
    return subtree === undefined ? NOWHERE : { match: 'yes', subtree };
  };
}

/** A constraint is a mailbox, a host, or `.domain` for the hosts beneath one. */
function indexMailboxes(subtrees: readonly string[]): Lookup {
  const isMailbox = (subtree: string): boolean => subtree.includes('@');
  const findHost = indexHosts(subtrees.filter((subtree) => !isMailbox(subtree)));
  const mailboxes = keyed(subtrees.filter(isMailbox), foldHost);
  return (address) => {
    if (address.lastIndexOf('@') <= 0) return { match: 'unclear', subtree: subtrees[0] ?? '' };
    const subtree = mailboxes.get(foldHost(address));
    if (subtree !== undefined) return { match: 'yes', subtree };
    return findHost(address.slice(address.lastIndexOf('@') + 1).toLowerCase());
  };
}

/**
 * Of an address in UTF-8 only the host is judged, in ASCII (RFC 9598 §6). No subtree that is one
 * mailbox permits it; one that reads alike excludes it.
 */
function indexUtf8Mailboxes(subtrees: readonly string[]): Lookup {
  const findMailbox = indexMailboxes(subtrees);
  return (address) => {
    const at = address.lastIndexOf('@');
    const host = domainInAscii(address.slice(at + 1));
    if (at <= 0 || host === '') return { match: 'unclear', subtree: subtrees[0] ?? '' };
    const found = findMailbox(`${address.slice(0, at)}@${host}`);
    return found.match === 'yes' && found.subtree.includes('@')
      ? { ...found, match: 'unclear' }
      : found;
  };
}

/** The part before "@" is case-sensitive, the host is not. */
function foldHost(address: string): string {
  const at = address.lastIndexOf('@');
  return address.slice(0, at) + address.slice(at).toLowerCase();
}

const URI_HOST = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@\\]*@)?([a-z0-9._-]+)(?::\d*)?(?:[/?#]|$)/i;

/** Only the host counts. A URI without a host name cannot be judged (RFC 5280: it is refused). */
function indexUriHosts(subtrees: readonly string[]): Lookup {
  const findHost = indexHosts(subtrees);
  return (uri) => {
    const host = URI_HOST.exec(uri)?.[1];
    if (host === undefined || parseIpAddress(host)) {
      return { match: 'unclear', subtree: subtrees[0] ?? '' };
    }
    return findHost(host.toLowerCase());
  };
}
