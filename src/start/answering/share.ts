import type { Config } from '../../config/config.ts';
import type { ConnectionLimits } from '../../config/connections.ts';

/** How many threads answer, and why that is one where more are asked for. */
export function countThreads(
  wanted: number,
  canShare: boolean,
): { threads: number; because: string | undefined } {
  if (wanted === 1 || canShare) return { threads: wanted, because: undefined };
  const because = 'one thread answers: this system does not share the connections of a port out';
  return { threads: 1, because };
}

/**
 * What each of several threads may have of the connections: its part of all, since the system shares them out evenly. Those
 * of one address need not be spread so, and may all be at one.
 */
export function shareOfThread(config: Config): Config {
  const { threads, connections, public_listener } = config;
  return {
    ...config,
    connections: partOf(connections, threads),
    public_listener: public_listener && {
      ...public_listener,
      connections: partOf(public_listener.connections, threads),
    },
  };
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
