/**
 * Judging names by the constraints above them (RFC 5280 §4.2.1.10). Subtrees are kept by what they
 * begin with, so that a certificate of thousands of names under a CA of thousands of
 * subtrees takes time in proportion to both together, not to one times the other.
 */

import { memoizeWeak } from '../core/memoize-weak.ts';
import { type DirectoryConstraints, findForbiddenName } from './directory-subtrees.ts';
import { GENERAL_NAME_TAG, type OtherName } from './general-names.ts';
import { parseIpAddress } from './ip-addresses.ts';
import type { ConstrainedKind, NameConstraints } from './name-constraints.ts';
import { findHostInSubject, findLabelInSubject } from './subject-hosts.ts';
import {
  indexDomains,
  indexMailboxes,
  indexRanges,
  indexUriHosts,
  indexUtf8Mailboxes,
  type Lookup,
} from './subtree-lookups.ts';

/** Names as a certificate holds them, to be judged against the constraints above it. */
export interface ConstrainedNames {
  /** Where there is no DNS name, clients take one that reads like a host for one. */
  common_name?: string;
  /** DER of the whole Name, held to constraints on directory names unless it is empty. */
  subject?: Uint8Array;
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
export interface JudgedConstraints extends NameConstraints, DirectoryConstraints {
  /** Tags of those kinds of subtrees that are not taken apart. */
  other_kinds?: readonly number[];
}

type ConstraintVerdict = { allowed: true } | { allowed: false; because: string };

interface Kind {
  label: string;
  namesOf(names: ConstrainedNames): readonly string[];
  /** What the fields of both sides end in. */
  of: ConstrainedKind;
  index(subtrees: readonly string[]): Lookup;
}

const KINDS: readonly Kind[] = [
  {
    label: 'DNS name',
    namesOf: hostsOf,
    of: 'dns_domains',
    index: indexDomains,
  },
  {
    label: 'IP address',
    namesOf: addressesOf,
    of: 'ip_ranges',
    index: indexRanges,
  },
  {
    label: 'email address',
    namesOf: ({ email }) => email,
    of: 'email_addresses',
    index: indexMailboxes,
  },
  {
    label: 'internationalized email address',
    namesOf: ({ other = [] }) =>
      other.filter(({ oid }) => oid === SMTP_UTF8_MAILBOX).map(({ value }) => value),
    of: 'email_addresses',
    index: indexUtf8Mailboxes,
  },
  {
    label: 'URI',
    namesOf: ({ uri }) => uri,
    of: 'uri_domains',
    index: indexUriHosts,
  },
];

const indexConstraints = memoizeWeak((constraints: JudgedConstraints) =>
  KINDS.map((kind) => ({ kind, ...indexKind(kind, constraints) })),
);

function indexKind(kind: Kind, constraints: NameConstraints) {
  const permitted = constraints[`permitted_${kind.of}`];
  const excluded = constraints[`excluded_${kind.of}`];
  return {
    permits: permitted.length > 0 ? kind.index(permitted) : undefined,
    excludes: excluded.length > 0 ? kind.index(excluded) : undefined,
  };
}

/**
 * Says whether a CA's constraints let every name pass: none within an excluded subtree,
 * each within a permitted one where its kind has any, the subject as a whole among them. A name of a
 * kind whose subtrees are not taken apart is refused.
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
  const because = findForbiddenName(constraints, names);
  return because === undefined ? { allowed: true } : { allowed: false, because };
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
