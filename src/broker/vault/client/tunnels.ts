import { memoizeWeak } from '../../../core/memoize-weak.ts';

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
 * @returns undefined where this server's own worker is admitted: it need go through none
 * @throws Failure `unresolved` when no worker can reach it
 */
export type OpenTunnel = (filter: string, endpoint: string) => Promise<Tunnel | undefined>;

/** How tunnels are opened: whoever has workers says so. */
export const tunnelsOf = memoizeWeak((_app: object): { open?: OpenTunnel } => ({}));
