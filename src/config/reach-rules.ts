import { BlockList, isIP, isIPv4 } from 'node:net';
import { groupsOf } from '../core/fairness/party.ts';

/** Where the server may go when somebody else names the address. */
export interface ReachRules {
  /** This machine, at whatever port and by whatever address of its own. */
  allow_loopback: boolean;
  /** Blocks such as `10.0.0.0/8`; empty: all that nothing else refuses. */
  allowed_networks: readonly string[];
  denied_networks: readonly string[];
}

type ReachVerdict = { allowed: true } | { allowed: false; because: string };

const NEVER = blocks([
  // Unspecified, link-local with the metadata services of most clouds, protocol assignments with
  // another one, multicast, reserved and broadcast.
  '0.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Metadata services that lie elsewhere.
  '100.100.100.200/32',
  '168.63.129.16/32',
  'fd00:ec2::/32',
  'fd20:ce::254/128',
  'fd00:c1::a9fe:a9fe/128',
  'fd00:42::42/128',
  'fd00:a9fe:a9fe::1/128',
  'fd00:100::100:200/128',
  '::/128',
  // Teredo and translation of local use (RFC 8215), which hide an IPv4 address in places that differ;
  // link-local; what was site-local; multicast.
  '2001::/32',
  '64:ff9b:1::/48',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
]);

const LOOPBACK = blocks(['127.0.0.0/8', '::1/128']);

/**
 * Judges an address that a name has resolved to, or that was named itself, before it is connected to.
 *
 * @param address of either kind; what is no address is refused
 * @param own addresses of this machine besides the loopback ones: what listens there is often meant
 *   for those who are on it
 */
export function judgeReach(
  address: string,
  rules: ReachRules,
  own: readonly string[] = [],
): ReachVerdict {
  const plain = plainAddress(address);
  if (isIP(plain) === 0 || isWithin(NEVER, plain)) {
    return refuse('the address is none that a server of somebody else has');
  }
  const isOurs = (): boolean => own.some((one) => plainAddress(one) === plain);
  if (!rules.allow_loopback && (isWithin(LOOPBACK, plain) || isOurs())) {
    return refuse('the address is this machine or this server');
  }
  if (isWithin(blocks(rules.denied_networks), plain)) return refuse('the address is not allowed');
  if (rules.allowed_networks.length > 0 && !isWithin(blocks(rules.allowed_networks), plain)) {
    return refuse('the address is not allowed');
  }
  return { allowed: true };
}

const refuse = (because: string): ReachVerdict => ({ allowed: false, because });

/** An IPv4 address in any of the forms that lead to it over IPv6 (RFC 4291, 6052, 3056, 5214) as itself. */
function plainAddress(address: string): string {
  const [bare = ''] = address.split('%');
  if (isIPv4(bare) || isIP(bare) === 0) return bare;
  const groups = groupsOf(bare);
  const [a, b, c, d, e, f, g = 0, h = 0] = groups;
  const isZero = (...some: (number | undefined)[]): boolean => some.every((one) => one === 0);
  const isMapped = isZero(a, b, c, d, e) && f === 0xffff;
  const isTranslated = isZero(a, b, c, d) && e === 0xffff && f === 0;
  // Of the address itself, and not `::` or `::1`.
  const isCompatible = isZero(a, b, c, d, e, f) && g !== 0;
  const isNat64 = a === 0x64 && b === 0xff9b && isZero(c, d, e, f);
  // ISATAP: within whatever network, of a global address or not.
  const isTunnelled = (e === 0 || e === 0x200) && f === 0x5efe;
  if (isMapped || isTranslated || isCompatible || isNat64 || isTunnelled) return dotted(g, h);
  if (a === 0x2002) return dotted(b ?? 0, c ?? 0);
  return groups.map((group) => group.toString(16)).join(':');
}

const dotted = (high: number, low: number): string =>
  [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');

function isWithin(list: BlockList, address: string): boolean {
  return list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

function blocks(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [base = '', length] = cidr.split('/');
    const family = isIPv4(base) ? 'ipv4' : 'ipv6';
    list.addSubnet(base, Number(length ?? (family === 'ipv4' ? 32 : 128)), family);
  }
  return list;
}
