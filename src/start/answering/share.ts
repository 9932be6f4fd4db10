import type { Config } from '../../config/config.ts';
import type { ConnectionLimits } from '../../config/connections.ts';
import { threadsOf } from '../../config/threads.ts';
import { threadsWithin } from '../../http/open-files.ts';

/** What a system lets several threads have. */
interface Shared {
  /** Whether it shares the connections of a port out among them. */
  connections: boolean;
  /** How many files the process may have open; undefined: as many as it likes. */
  open_files: number | undefined;
}

/** How many threads answer, and why those are fewer than are asked for. */
export function countThreads(
  wanted: number,
  { connections, open_files }: Shared,
): { threads: number; because: string | undefined } {
  if (wanted > 1 && !connections) {
    const because = 'one thread answers: this system does not share the connections of a port out';
    return { threads: 1, because };
  }
  const fit = threadsWithin(open_files);
  if (wanted <= fit) return { threads: wanted, because: undefined };
  const because = `of ${wanted} threads ${fit} answer: the process may not have more files open (ulimit -n, LimitNOFILE=)`;
  return { threads: fit, because };
}

/**
 * What each of several threads may have of the connections: its part of all, since the system shares them out evenly. Those
 * of one address need not be spread so, and may all be at one.
 */
export function shareOfThread(config: Config): Config {
  const { connections, public_listener } = config;
  const threads = threadsOf(config);
  return {
    ...config,
    connections: partOf(connections, threads),
    public_listener: public_listener && {
      ...public_listener,
      connections: partOf(public_listener.connections, threads),
    },
  };
}

/**
 * How many connections to PostgreSQL a thread reads over, besides the ten of the one that supervises: all together half of the
 * hundred that such a server has by itself, and with very many threads two each, since one network never has all of them.
 */
export function readersOfThread(threads: number): number {
  return Math.max(2, Math.min(4, Math.floor(50 / threads)));
}

function partOf(limits: ConnectionLimits, threads: number): ConnectionLimits {
  const max_connections = Math.ceil(limits.max_connections / threads);
  const { max_connections_per_address } = limits;
  return {
    ...limits,
    max_connections,
    max_connections_per_address: Math.min(max_connections_per_address, max_connections),
  };
}
