import { isIPv6 } from 'node:net';

/** A host of a target's host set. */
export interface Member {
  host_id: string;
  host_set_id: string;
}

/** Where a session can lead to; both ids are empty for a target's own address. */
export interface Endpoint extends Member {
  address: string;
}

export type MemberVerdict =
  | { chosen: Member }
  | { refused: 'none' | 'unavailable'; because: string };

export const NO_HOSTS: MemberVerdict = {
  refused: 'none',
  because: 'No host sources or address found for given target.',
};
export const NOT_AMONG_THEM = {
  refused: 'unavailable',
  because: 'The requested host id is not available.',
} as const satisfies MemberVerdict;

/**
 * Chooses where a session leads to.
 *
 * @param members all hosts of all host sets of the target; a host in two sets counts once
 * @param wanted  a host's id, or empty for any
 * @param roll    at least 0 and below 1
 * @see B-76
 */
export function chooseMember(
  members: readonly Member[],
  wanted: string,
  roll: number,
): MemberVerdict {
  const hosts = [...new Map(members.map((one) => [one.host_id, one])).values()];
  if (hosts.length === 0) return NO_HOSTS;
  const chosen =
    wanted === ''
      ? hosts[Math.floor(roll * hosts.length)]
      : hosts.find((one) => one.host_id === wanted);
  return chosen ? { chosen } : NOT_AMONG_THEM;
}

type UrlVerdict = { valid: true; url: string } | { valid: false; because: string };

/**
 * The endpoint as a URL, e.g. `tcp://[2001:db8::1]:22`.
 *
 * @param type    the target's, which is the scheme
 * @param address a bare host: a name or an IP address
 */
export function formatEndpoint(type: string, address: string, port: number): UrlVerdict {
  if (isIPv6(address)) return { valid: true, url: `${type}://[${address}]:${port}` };
  const fault = faultOfHost(address);
  if (fault === undefined) return { valid: true, url: `${type}://${address}:${port}` };
  return {
    valid: false,
    because: `error when parsing the chosen endpoint host address: ${fault}`,
  };
}

function faultOfHost(address: string): string | undefined {
  if (address === '') return 'address is empty';
  if (/^(?:[^:[\]]+|\[[^\]]*\]):[^:]*$/.test(address)) return 'address contains a port';
  if (/[:[\]/]/.test(address)) return 'address is neither a name nor an IP address';
  return undefined;
}
