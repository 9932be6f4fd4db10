import { isIP } from 'node:net';
import { type AddressBlock, AddressBlocks } from '../core/address-blocks.ts';
import { invalid } from '../core/failure.ts';
import { memoizeWeak } from '../core/memoize-weak.ts';
import { parseIpAddress } from '../x509/ip-addresses.ts';

/** Read once for each list: who logs in is held to the same one again and again. */
const readBlocks = memoizeWeak((cidrs: readonly string[]) => {
  const blocks = cidrs.flatMap((cidr) => parseBlock(cidr) ?? []);
  return new AddressBlocks(blocks.map((block) => [block, true]));
});

/**
 * Says whether an address lies within one of the blocks.
 *
 * @param cidrs   e.g. `10.0.0.0/8`, `2001:db8::/32`, `192.0.2.7`; an empty list admits all
 * @param address undefined when it is not known, which only the empty list admits
 */
export function judgeAddress(cidrs: readonly string[], address: string | undefined): boolean {
  return cidrs.length === 0 || addressesIn(cidrs)(address);
}

/** Tells of addresses, as a socket shows them, whether they lie within one of some blocks. */
export function addressesIn(cidrs: readonly string[]): (address: string | undefined) => boolean {
  const blocks = readBlocks(cidrs);
  return (address) => {
    const bytes = parseIpAddress(plainAddress(address) ?? '');
    return bytes !== undefined && blocks.find({ bytes, prefix: 8 * bytes.length }) === true;
  };
}

/**
 * An address as a socket shows it, without what is the socket's own: a dual-stack one shows IPv4 peers
 * as `::ffff:192.0.2.7`, and a link's own addresses come with its name.
 *
 * @returns undefined for what is no address
 */
export function plainAddress(address: string | undefined): string | undefined {
  const [whole = ''] = address?.split('%', 1) ?? [];
  const plain = whole.replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(plain) === 0 ? undefined : plain;
}

/** Says whether every block lies within one of `outer`; an empty `outer` is everything. */
export function areWithin(cidrs: readonly string[], outer: readonly string[]): boolean {
  if (outer.length === 0) return true;
  const blocks = readBlocks(outer);
  return cidrs.every((cidr) => {
    const block = parseBlock(cidr);
    return block !== undefined && blocks.find(block) === true;
  });
}

/** @throws Failure `invalid` that names the first block that is none */
export function requireCidrs(field: string, cidrs: readonly string[]): void {
  const wrong = cidrs.find((cidr) => parseBlock(cidr) === undefined);
  if (wrong === undefined) return;
  throw invalid(`${field}: "${wrong}" is no address block such as "10.0.0.0/8" or "2001:db8::/32"`);
}

/** What is written as IPv4 in IPv6 form is a block of IPv4 addresses: `::ffff:10.0.0.0/104`. */
function parseBlock(cidr: string): AddressBlock | undefined {
  const [base = '', length, ...more] = cidr.split('/', 3);
  const bytes = parseIpAddress(base);
  if (!bytes || more.length > 0) return undefined;
  const written = base.includes(':') ? 128 : 32;
  const bits = length === undefined ? written : /^\d{1,3}$/.test(length) ? Number(length) : -1;
  const prefix = bits - (written - 8 * bytes.length);
  return prefix < 0 || bits > written ? undefined : { bytes, prefix };
}
