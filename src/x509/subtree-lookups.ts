/** Subtrees of each kind of name, kept so that a name is looked up and not compared with each. */

import { type AddressBlock, AddressBlocks } from '../core/address-blocks.ts';
import { domainInAscii, isConvertible } from '../core/domain-names.ts';
import { withoutTrailing } from '../core/edges.ts';
import { parseIpAddress, parseIpBlock } from './ip-addresses.ts';

/** `unclear` refuses either way: a name that cannot be understood is neither permitted nor safe from exclusion. */
type Match = 'yes' | 'no' | 'unclear';

/** What a name was found in, as the constraint has it. */
interface Found {
  match: Match;
  subtree: string;
}

/** Looks a name up among subtrees. */
export type Lookup = (name: string) => Found;

const NOWHERE: Found = { match: 'no', subtree: '' };

/** By the form in which they are compared; of several the first stands for all, before it one without the root's dot. */
function keyed(
  subtrees: readonly string[],
  keyOf: (subtree: string) => string | undefined,
): Map<string, string> {
  const known = new Map<string, string>();
  for (const subtree of subtrees) {
    const key = keyOf(subtree);
    if (key !== undefined && known.get(key)?.endsWith('.') !== false) known.set(key, subtree);
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

/** A domain holds itself and what is beneath; with a leading dot only that, as many CAs write it. */
export function indexDomains(subtrees: readonly string[]): Lookup {
  const whole = keyed(subtrees, foldDomain);
  const dotted = keyed(subtrees, (domain) => {
    const folded = foldDomain(domain);
    return folded.startsWith('.') ? folded : `.${folded}`;
  });
  const findEnd = endsOf(dotted);
  // The wildcard also stands for hosts inside the subtree: *.example.com covers a.example.com.
  const parents = keyed(subtrees, (domain) => {
    const base = foldDomain(domain).replace(/^\./, '');
    return base.includes('.') ? base.slice(base.indexOf('.') + 1) : undefined;
  });
  const everything = whole.get('');
  return (name) => {
    if (!isUnderstood(name)) return { match: 'unclear', subtree: subtrees[0] ?? '' };
    const lower = name.toLowerCase();
    const host = withoutTrailing(lower, '.');
    const within = everything ?? findWhole(whole, host) ?? findEnd(host);
    if (within !== undefined) return foundIn(name, within);
    const covered = parents.get(baseOf(host));
    return covered === undefined ? NOWHERE : { match: 'unclear', subtree: covered };
  };
}

/** In lower case, without the dot of the root. */
const foldDomain = (domain: string): string => withoutTrailing(domain.toLowerCase(), '.');

/** Where name or subtree ends with the root's dot some verifiers find the one within the other, others do not. */
const foundIn = (name: string, subtree: string): Found => ({
  match: name.endsWith('.') || subtree.endsWith('.') ? 'unclear' : 'yes',
  subtree,
});

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

export function indexRanges(subtrees: readonly string[]): Lookup {
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
  const known = keyed(subtrees, foldDomain);
  const everything = known.get('');
  const findEnd = endsOf(keyed(subtrees.filter(isDotted), foldDomain));
  return (name) => {
    const host = foldDomain(name);
    if (host === '') return { match: 'unclear', subtree: subtrees[0] ?? '' };
    const subtree = everything ?? findWhole(known, host) ?? findEnd(host);
    return subtree === undefined ? NOWHERE : foundIn(name, subtree);
  };
}

/** A constraint is a mailbox, a host, or `.domain` for the hosts beneath one. */
export function indexMailboxes(subtrees: readonly string[]): Lookup {
  const isMailbox = (subtree: string): boolean => subtree.includes('@');
  const findHost = indexHosts(subtrees.filter((subtree) => !isMailbox(subtree)));
  const mailboxes = keyed(subtrees.filter(isMailbox), foldHost);
  return (address) => {
    if (address.lastIndexOf('@') <= 0) return { match: 'unclear', subtree: subtrees[0] ?? '' };
    const subtree = mailboxes.get(foldHost(address));
    if (subtree !== undefined) return foundIn(address, subtree);
    return findHost(address.slice(address.lastIndexOf('@') + 1));
  };
}

/**
 * Of an address in UTF-8 only the host is judged, in ASCII (RFC 9598 §6). No subtree that is one
 * mailbox permits it; one that reads alike excludes it.
 */
export function indexUtf8Mailboxes(subtrees: readonly string[]): Lookup {
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
  return address.slice(0, at) + foldDomain(address.slice(at));
}

const URI_HOST = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#@\\]*@)?([a-z0-9._-]+)(?::\d*)?(?:[/?#]|$)/i;

/** Only the host counts. A URI without a host name cannot be judged (RFC 5280: it is refused). */
export function indexUriHosts(subtrees: readonly string[]): Lookup {
  const findHost = indexHosts(subtrees);
  return (uri) => {
    const host = URI_HOST.exec(uri)?.[1];
    if (host === undefined || parseIpAddress(foldDomain(host))) {
      return { match: 'unclear', subtree: subtrees[0] ?? '' };
    }
    return findHost(host);
  };
}
