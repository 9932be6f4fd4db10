import type { Config } from '../../src/config/config.ts';
import { PUBLIC_CONNECTION_DEFAULTS } from '../../src/config/connections.ts';

/** The listener for relying parties, at a port of its own. */
export const PUBLIC_LISTENER: NonNullable<Config['public_listener']> = {
  listen: { host: '127.0.0.1', port: 0 },
  tls: undefined,
  allowed_hosts: undefined,
  connections: PUBLIC_CONNECTION_DEFAULTS,
};
