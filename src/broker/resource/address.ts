import { isIPv6 } from 'node:net';

type AddressVerdict = { valid: true; address: string } | { valid: false; because: string };

const invalid = (because: string): AddressVerdict => ({ valid: false, because });

/**
 * Reads the address of a host or a target: an IP address or a DNS name, without a port.
 * Names are not resolved.
 *
 * @param portMessage what is said of an address with a port
 * @returns the address trimmed, an IPv6 one in its canonical form (RFC 5952)
 * @see B-63
 */
export function judgeAddress(text: string, portMessage: string): AddressVerdict {
  const address = text.trim();
  if (address.length < 3 || address.length > 255) {
    return invalid('Address length must be between 3 and 255 characters.');
  }
  if (/^\[[^\]]*\]$/.test(address)) {
    return invalid('Error parsing address: address cannot be encapsulated by brackets.');
  }
  if (isIPv6(address)) return { valid: true, address: canonicalIpv6(address) };
  // One colon, or brackets before one: host and port.
  if (/^[^:[\]]+:[^:]*$/.test(address) || /^\[[^\]]*\]:\d*$/.test(address)) {
    return invalid(portMessage);
  }
  if (/^[0-9a-f:.]+$/i.test(address) && address.includes(':')) {
    return invalid('Error parsing address: host contains an invalid IPv6 literal.');
  }
  if (/[:[\]]/.test(address)) return invalid('Error parsing address: failed to parse address.');
  if (!/^[\p{L}\p{N}._~!$&'()*+,;=%-]+$/u.test(address)) {
    return invalid('Error parsing address: it contains characters that no address has.');
  }
  return { valid: true, address };
}

/** RFC 5952: lower case, no leading zeros, the longest run of zeros shortened. */
function canonicalIpv6(address: string): string {
  const zone = address.indexOf('%');
  const bare = zone < 0 ? address : address.slice(0, zone);
  // The URL parser serialises IPv6 as RFC 5952 has it.
  const host = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  return zone < 0 ? host : host + address.slice(zone);
}
