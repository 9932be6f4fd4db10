/** IP addresses and ranges between text and the bytes certificates carry (RFC 5280 §4.2.1.6, §4.2.1.10). */

import type { AddressBlock } from '../core/address-blocks.ts';

const OCTET = /^(?:0|[1-9]\d{0,2})$/;
const GROUP = /^[0-9a-f]{1,4}$/i;

/**
 * The 4 or 16 bytes of an address. An IPv4 address in IPv6 form (`::ffff:192.0.2.1`) is the IPv4
 * address, so that one address has one form in a certificate.
 *
 * @returns undefined for anything else: zones, leading zeros in IPv4, blanks
 * @see RFC 4291 §2.2
 */
export function parseIpAddress(text: string): Uint8Array | undefined {
  if (text.length > 45) return undefined;
  if (!text.includes(':')) return parseIpv4(text);
  const bytes = parseIpv6(text);
  return bytes && isMapped(bytes) ? bytes.slice(12) : bytes;
}

function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => OCTET.test(part) && Number(part) <= 255)) {
    return undefined;
  }
  return Uint8Array.from(parts, Number);
}

function parseIpv6(text: string): Uint8Array | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const [before = '', after] = halves;
  const head = parseGroups(before, after === undefined);
  const tail = after === undefined ? undefined : parseGroups(after, true);
  if (!head || (halves.length === 2 && !tail)) return undefined;
  const known = head.length + (tail?.length ?? 0);
  // "::" stands for at least one group of zeros.
  if (tail ? known > 14 : known !== 16) return undefined;
  const bytes = new Uint8Array(16);
  bytes.set(head);
  if (tail) bytes.set(tail, 16 - tail.length);
  return bytes;
}

/** Bytes of the groups between colons; the last may be an IPv4 address when `last`. */
function parseGroups(text: string, last: boolean): number[] | undefined {
  if (text === '') return [];
  const bytes: number[] = [];
  const groups = text.split(':');
  // No address has more: a longer text is not looked at to its end.
  if (groups.length > 8) return undefined;
  for (let index = 0; index < groups.length; index++) {
    const group = groups[index] ?? '';
    if (GROUP.test(group)) {
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
      continue;
    }
    const ipv4 = last && index === groups.length - 1 ? parseIpv4(group) : undefined;
    if (!ipv4) return undefined;
    bytes.push(...ipv4);
  }
  return bytes;
}

function isMapped(bytes: Uint8Array): boolean {
  return (
    bytes.length === 16 &&
    bytes[10] === 0xff &&
    bytes[11] === 0xff &&
    bytes.subarray(0, 10).every((byte) => byte === 0)
  );
}

/** The one form of an address that has several; what is no address stays as it is. */
export function canonicalAddress(text: string): string {
  const bytes = parseIpAddress(text);
  return (bytes && formatIpAddress(bytes)) ?? text;
}

/**
 * The text of 4 or 16 bytes, in the form of RFC 5952.
 *
 * @returns undefined for any other number of bytes
 */
export function formatIpAddress(bytes: Uint8Array): string | undefined {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16) return undefined;
  if (isMapped(bytes)) return bytes.subarray(12).join('.');
  const groups: string[] = [];
  for (let at = 0; at < 16; at += 2) {
    groups.push((((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16));
  }
  const run = longestZeroRun(groups);
  if (run.length < 2) return groups.join(':');
  const head = groups.slice(0, run.start).join(':');
  const tail = groups.slice(run.start + run.length).join(':');
  return `${head}::${tail}`;
}

function longestZeroRun(groups: string[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === '0') length++;
    if (length > best.length) best = { start, length };
  }
  return best;
}

/**
 * Address and mask of a range in CIDR form, e.g. `10.1.0.0/16`; bits beyond the mask become zero.
 *
 * @returns 8 or 32 bytes, undefined when the text is no range
 */
export function parseIpRange(text: string): Uint8Array | undefined {
  const slash = text.indexOf('/');
  const prefix = text.slice(slash + 1);
  if (slash === -1 || !OCTET.test(prefix)) return undefined;
  const address = text.slice(0, slash);
  // A range keeps the family it is written in: ::ffff:0:0/96 is a range of IPv6 addresses.
  const bytes = address.includes(':') ? parseIpv6(address) : parseIpv4(address);
  const bits = Number(prefix);
  if (!bytes || bits > bytes.length * 8) return undefined;
  const range = new Uint8Array(bytes.length * 2);
  for (let at = 0; at < bytes.length; at++) {
    const mask = (0xff00 >> Math.min(8, Math.max(0, bits - at * 8))) & 0xff;
    range[at] = (bytes[at] ?? 0) & mask;
    range[bytes.length + at] = mask;
  }
  return range;
}

/** A range in CIDR form as the addresses that it holds; undefined when the text is no range. */
export function parseIpBlock(text: string): AddressBlock | undefined {
  const range = parseIpRange(text);
  if (!range) return undefined;
  const half = range.length / 2;
  const prefix = prefixLength(range.subarray(half));
  return prefix === undefined ? undefined : { bytes: range.subarray(0, half), prefix };
}

/** CIDR form of address and mask; undefined unless 8 or 32 bytes with a mask that is a prefix. */
export function formatIpRange(range: Uint8Array): string | undefined {
  if (range.length !== 8 && range.length !== 32) return undefined;
  const half = range.length / 2;
  const bits = prefixLength(range.subarray(half));
  if (bits === undefined) return undefined;
  const address = formatRangeBase(range.subarray(0, half));
  return address && `${address}/${bits}`;
}

/** How many bits from the first are set; undefined where others are set after them. */
function prefixLength(mask: Uint8Array): number | undefined {
  let at = 0;
  while (mask[at] === 0xff) at++;
  // As many as the zeros from the first of what is not set.
  const ones = Math.clz32(~((mask[at] ?? 0) << 24));
  if (((mask[at] ?? 0) << ones) & 0xff) return undefined;
  for (let after = at + 1; after < mask.length; after++) if (mask[after] !== 0) return undefined;
  return at * 8 + ones;
}

function formatRangeBase(bytes: Uint8Array): string | undefined {
  return isMapped(bytes) ? `::ffff:${bytes.subarray(12).join('.')}` : formatIpAddress(bytes);
}
