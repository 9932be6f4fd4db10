import { isIPv4, isIPv6 } from 'node:net';

/** Stands for the server's own work. */
export const OWN_PARTY = '';

/** Stands for work, whoever asked for it, that others wait for: they take turns at it, and it takes its own as one. */
export const SHARED_PARTY = 'shared';

/**
 * Under what the requests of an address are counted together: the address itself for IPv4, the
 * network of 64 bits for IPv6, of which one machine commonly has a whole one (RFC 6177).
 *
 * @param address of a socket; IPv4 also in the form of a dual-stack socket, `::ffff:192.0.2.7`
 */
export function partyOf(address: string): string {
  // The usual case by far, and asked for every connection.
  if (isIPv4(address)) return address;
  const [bare = ''] = address.split('%');
  if (!isIPv6(bare)) return address;
  const groups = groupsOf(bare);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6);
    return `${high >> 8}.${high & 0xff}.${low >> 8}.${low & 0xff}`;
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/**
 * Whose network an address most likely lies in: for IPv6 that of 48 bits, the most that one site is
 * given (RFC 6177), for IPv4 the address itself.
 */
export function siteOf(address: string): string {
  return siteOfParty(partyOf(address));
}

/** As {@link siteOf}, of what `partyOf` says. */
export function siteOfParty(party: string): string {
  if (!party.endsWith('::/64')) return party;
  return `${party.split(':').slice(0, 3).join(':')}::/48`;
}

/**
 * The smallest network that is routed by itself, and so the least that somebody with many addresses commonly has
 * of them: 24 bits of IPv4, 48 of IPv6. For what shares out turns and leaves others room: neighbours are not one.
 */
export function networkOf(address: string): string {
  return networkOfParty(partyOf(address));
}

/** As {@link networkOf}, of what `partyOf` says. */
export function networkOfParty(party: string): string {
  const site = siteOfParty(party);
  return isIPv4(site) ? `${site.slice(0, site.lastIndexOf('.'))}.0/24` : site;
}

/**
 * The most that the addresses of one network have together of what many share, unless one address may have more:
 * whoever has a whole network leaves something to others, who have none of it yet.
 */
export const NETWORK_PART = 3 / 4;

/** The eight groups of a valid IPv6 address. */
export function groupsOf(address: string): number[] {
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(address);
  const [, head = '', a, b, c, d] = dotted ?? [];
  const plain = dotted
    ? `${head}${((Number(a) << 8) | Number(b)).toString(16)}:${((Number(c) << 8) | Number(d)).toString(16)}`
    : address;
  const [before = '', after] = plain.split('::');
  const groups = (text: string | undefined): number[] =>
    text ? text.split(':').map((group) => Number.parseInt(group, 16)) : [];
  const first = groups(before);
  if (after === undefined) return first;
  const last = groups(after);
  return [...first, ...new Array<number>(8 - first.length - last.length).fill(0), ...last];
}
