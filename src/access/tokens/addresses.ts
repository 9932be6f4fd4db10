import { BlockList, isIP } from 'node:net';
import { Failure } from '../../core/failure.ts';

/**
 * Says whether an address lies within one of the blocks.
 *
 * @param cidrs   e.g. `10.0.0.0/8`, `2001:db8::/32`, `192.0.2.7`; an empty list admits all
 * @param address undefined when it is not known, which only the empty list admits
 */
export function judgeAddress(cidrs: readonly string[], address: string | undefined): boolean {
  if (cidrs.length === 0) return true;
  return addressesIn(cidrs)(address);
}

/** Tells of addresses, as a socket shows them, whether they lie within one of some blocks. */
export function addressesIn(cidrs: readonly string[]): (address: string | undefined) => boolean {
  const blocks = new BlockList();
  for (const cidr of cidrs) addBlock(blocks, cidr);
  return (address) => {
    const plain = plainAddress(address);
    return plain !== undefined && blocks.check(plain, isIP(plain) === 4 ? 'ipv4' : 'ipv6');
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
  return cidrs.every((cidr) => {
    const [base = ''] = cidr.split('/');
    return outer.some(
      (block) =>
        isIP(base) === isIP(block.split('/')[0] ?? '') &&
        prefixLength(cidr) >= prefixLength(block) &&
        judgeAddress([block], base),
    );
  });
}

function prefixLength(cidr: string): number {
  const [base = '', length] = cidr.split('/');
  return length === undefined ? (isIP(base) === 4 ? 32 : 128) : Number(length);
}

/** @throws Failure `invalid` that names the first block that is none */
export function requireCidrs(field: string, cidrs: readonly string[]): void {
  const wrong = cidrs.find((cidr) => !addBlock(new BlockList(), cidr));
  if (wrong === undefined) return;
  throw new Failure(
    'invalid',
    `${field}: "${wrong}" is no address block such as "10.0.0.0/8" or "2001:db8::/32"`,
  );
}

function addBlock(blocks: BlockList, cidr: string): boolean {
  const [base = '', length, ...more] = cidr.split('/');
  const family = isIP(base);
  const bits = family === 4 ? 32 : 128;
  const prefix = length === undefined ? bits : /^\d{1,3}$/.test(length) ? Number(length) : -1;
  if (family === 0 || more.length > 0 || prefix < 0 || prefix > bits) return false;
  blocks.addSubnet(base, prefix, family === 4 ? 'ipv4' : 'ipv6');
  return true;
}
