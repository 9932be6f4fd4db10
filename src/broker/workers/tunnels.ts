import type { ReachRules } from '../../config/reach-rules.ts';
import { Failure } from '../../core/failure.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';

/** A way to a server through a worker: what connects to the path is connected to it. */
export interface Tunnel {
  /** Of a socket of this machine. */
  path: string;
  close(): void;
}

/**
 * Opens one through a worker that a filter admits.
 *
 * @param endpoint `tcp://HOST:PORT`
 * @param reach where that may be, as whoever dials it finds it
 * @returns undefined where this server's own worker is admitted: it need go through none
 * @throws Failure `unresolved` when no worker can reach it
 */
export type OpenTunnel = (
  filter: string,
  endpoint: string,
  reach: ReachRules,
) => Promise<Tunnel | undefined>;

/** How tunnels are opened: whoever has workers says so. */
export const tunnelsOf = memoizeWeak((_app: object): { open?: OpenTunnel } => ({}));

/** Where a worker may dial to: its own machine is not this server's. */
export const reachOfWorkers = (reach: ReachRules): ReachRules => ({
  ...reach,
  allow_loopback: true,
});

/**
 * Opens a way to the server of a URL, `http:` or `https:`.
 *
 * @param reach where this server itself may reach
 * @returns undefined where this server's own worker is admitted
 * @throws Failure `unresolved`
 */
export async function openTunnelTo(
  app: object,
  filter: string,
  { url, reach }: { url: URL; reach: ReachRules },
): Promise<Tunnel | undefined> {
  const { open } = tunnelsOf(app);
  if (!open) throw new Failure('unresolved', 'this server has no listener for workers');
  const port = url.port === '' ? defaultPort(url) : url.port;
  return open(filter, `tcp://${url.hostname}:${port}`, reachOfWorkers(reach));
}

export const defaultPort = ({ protocol }: URL): number => (protocol === 'https:' ? 443 : 80);
