import { hostOf } from '../../broker/sessions/session-certificate.ts';

/** The host of a session's endpoint, e.g. `tcp://[2001:db8::1]:5432`. */
export function endpointHost(endpoint: string): string {
  return hostOf(endpoint.slice(endpoint.indexOf('://') + 3));
}

/** As it is written before a port. */
export const bracketed = (host: string): string =>
  host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
