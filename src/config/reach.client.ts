import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import { judgeReach, type ReachRules } from './reach-rules.ts';

/** Where connections to servers of others may lead. */
export interface Reach {
  reach: ReachRules;
  /** Where this server listens, besides its interfaces. */
  listening: readonly string[];
}

type Refuse = (kind: 'barred' | 'unreachable', because: string) => Error;
/** Finds all addresses of a name. */
type FindAddresses = (
  find: () => Promise<LookupAddress[]>,
  name: string,
) => Promise<readonly LookupAddress[]>;

/** The host of a URL, an IPv6 address without its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** @throws what `refuse` makes, for an address, which nobody looks up, that is not to be reached */
export function refuseLiteral(within: Reach, url: URL, refuse: Refuse): void {
  refuseAddress(within, hostOf(url), refuse);
}

/** As {@link refuseLiteral}. @param address what is none is a name, and looked up */
export function refuseAddress(within: Reach, address: string, refuse: Refuse): void {
  if (isIP(address) === 0) return;
  const because = barredBecause(address, within.reach, listOwnAddresses(within));
  if (because !== undefined) throw refuse('barred', because);
}

/**
 * Resolves a name for one connection, and judges what it resolves to right there: what was judged is what is connected
 * to, whatever the name resolves to a moment later.
 *
 * @param inTurn when a name may be looked up: the runtime has few threads for all that look one up
 */
export function lookupWithin(
  within: Reach,
  refuse: Refuse,
  inTurn: FindAddresses = (find) => find(),
): LookupFunction {
  return (hostname, options, done) => {
    // Apart from the answer: what fails here is told, and nothing is told twice.
    const collect = (found: readonly LookupAddress[]) => ({ found, own: listOwnAddresses(within) });
    const answer = ({ found, own }: ReturnType<typeof collect>): void => {
      const [first] = found;
      // A name of which one address leads inwards is not tried at the others.
      const because = found
        .map(({ address }) => barredBecause(address, within.reach, own))
        .find((one) => one !== undefined);
      if (because !== undefined) done(refuse('barred', because), '');
      else if (!first) done(refuse('unreachable', 'the name has no address'), '');
      else if (options.all) done(null, [...found]);
      else done(null, first.address, first.family);
    };
    const find = () => lookup(hostname, { ...options, all: true });
    inTurn(find, hostname)
      .then(collect)
      .then(answer, (error) => done(error, ''));
  };
}

function barredBecause(
  address: string,
  rules: ReachRules,
  own: readonly string[],
): string | undefined {
  const verdict = judgeReach(address, rules, own);
  return verdict.allowed ? undefined : verdict.because;
}

/** Read for each connection, since interfaces come and go; it takes some tens of microseconds. */
function listOwnAddresses({ listening }: Reach): string[] {
  const all = Object.values(networkInterfaces()).flatMap((some) => some ?? []);
  return [...all.map(({ address }) => address), ...listening];
}
