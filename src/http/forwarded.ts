import { addressesIn, plainAddress } from '../config/cidrs.ts';

/** Addresses that are looked at, from the last; no chain of proxies is longer. */
const MOST_HOPS = 32;

/** `because` completes "X-Forwarded-For names …". */
type ClientVerdict = { address: string } | { because: string };

/**
 * Proxies that are believed when they say on whose behalf they ask. Each adds the address that it
 * was asked from at the end of `X-Forwarded-For`, so what stands before the last one that is not
 * such a proxy's may be anybody's invention.
 */
export class TrustedProxies {
  /** Whether a peer is such a proxy. */
  readonly has: (peer: string | undefined) => boolean;

  /** @param cidrs as `requireCidrs` has checked them */
  constructor(cidrs: readonly string[]) {
    this.has = cidrs.length === 0 ? () => false : addressesIn(cidrs);
  }

  /**
   * Whose request this is: the peer's, unless the peer is a proxy that names somebody.
   *
   * @param header of all `X-Forwarded-For` fields, joined with commas in their order
   */
  clientOf(peer: string, header: string | undefined): ClientVerdict {
    if (header === undefined || !this.has(peer)) return { address: peer };
    let address = peer;
    let end = header.length;
    for (let hop = 0; end >= 0; hop += 1) {
      if (hop === MOST_HOPS) return { because: `more than ${MOST_HOPS} proxies` };
      const comma = end === 0 ? -1 : header.lastIndexOf(',', end - 1);
      const named = addressIn(header.slice(comma + 1, end).trim());
      if (named === undefined) return { because: 'what is no IP address' };
      address = named;
      if (!this.has(named)) break;
      end = comma;
    }
    return { address };
  }
}

/** Some proxies add the port as well: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
const WITH_PORT = /^(?:\[([0-9a-f:.]{2,45})\]|(\d[\d.]{6,14}))(?::\d{1,5})?$/i;

function addressIn(text: string): string | undefined {
  const match = WITH_PORT.exec(text);
  return plainAddress(match?.[1] ?? match?.[2] ?? text);
}
