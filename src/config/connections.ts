import { z } from 'zod';
import { invalid } from '../core/failure.ts';
import { absentAsNull, blocks, count, flag, seconds } from './kinds.ts';

/** How many connections the listener has, and how long it waits on them. */
export interface ConnectionLimits {
  /** Address blocks of proxies that are believed when they say on whose behalf they ask. */
  trusted_proxies: readonly string[];
  /** Their connections begin with a header that says whose each is. */
  proxy_protocol: boolean;
  max_connections: number;
  /** An IPv6 network of 64 bits counts as one address; a trusted proxy may have all. */
  max_connections_per_address: number;
  /** For a TLS handshake, and for the head of a request. */
  header_ms: number;
  /** For a request with its body. */
  request_ms: number;
  /** Between two requests. */
  idle_ms: number;
  /** For the client to take an answer. */
  answer_ms: number;
}

/** Of `listener` in the configuration file. */
export const connectionSettings = {
  max_connections: count(1)
    .default(8_192)
    .describe(
      'connections at once; one too many takes the place of the longest unused on which nothing is being answered, or where all are in use, of one of those who have most. Where the process may have few files open (`ulimit -n`, `LimitNOFILE=`) there are fewer, see [load](load.md)',
    ),
  max_connections_per_address: count(1)
    .default(1_024)
    .describe('those of one address; an IPv6 network of 64 bits is one'),
  trusted_proxies: absentAsNull(blocks.default([])).describe(
    'such as `["10.0.0.0/8"]`: load balancers and proxies that are believed when they say in `X-Forwarded-For` on whose behalf they ask: the last address there that is not one of theirs counts for limits, bound addresses and the audit. Such a proxy may have all connections; it must add to the header, or replace it',
  ),
  proxy_protocol: flag
    .default(false)
    .describe(
      'connections of `trusted_proxies` begin with a header of the PROXY protocol (version 1 or 2), whose client counts for limits, bound addresses and the audit; those of others do not',
    ),
  header_timeout: seconds
    .default(15)
    .describe('seconds for a TLS handshake, and for the head of a request'),
  request_timeout: seconds.default(60).describe('seconds for a request with its body'),
  idle_timeout: seconds.default(75).describe('seconds that a connection stays between requests'),
  answer_timeout: seconds
    .default(600)
    .describe('seconds in which a client must have taken an answer'),
};
const limits = z.object(connectionSettings);

/** Of a listener whose settings were read. */
export function connectionsOf(listener: z.output<typeof limits>): ConnectionLimits {
  if (listener.proxy_protocol && listener.trusted_proxies.length === 0) {
    throw invalid('proxy_protocol of a listener needs its trusted_proxies');
  }
  return {
    trusted_proxies: listener.trusted_proxies,
    proxy_protocol: listener.proxy_protocol,
    max_connections: listener.max_connections,
    max_connections_per_address: listener.max_connections_per_address,
    header_ms: listener.header_timeout * 1000,
    request_ms: listener.request_timeout * 1000,
    idle_ms: listener.idle_timeout * 1000,
    answer_ms: listener.answer_timeout * 1000,
  };
}

export const CONNECTION_DEFAULTS: ConnectionLimits = connectionsOf(limits.parse({}));

/** Of `public_listener`: short answers to many, so that what is slow gives way sooner. */
export const publicConnectionSettings = {
  ...connectionSettings,
  max_connections: count(1).default(2_048).describe('as of `listener`'),
  max_connections_per_address: count(1).default(256).describe('as of `listener`'),
  trusted_proxies: connectionSettings.trusted_proxies.describe('as of `listener`'),
  proxy_protocol: flag.default(false).describe('as of `listener`'),
  header_timeout: seconds.default(15).describe('as of `listener`'),
  request_timeout: seconds.default(30).describe('as of `listener`'),
  idle_timeout: seconds.default(15).describe('as of `listener`'),
  answer_timeout: seconds.default(600).describe('as of `listener`'),
};
export const PUBLIC_CONNECTION_DEFAULTS: ConnectionLimits = connectionsOf(
  z.object(publicConnectionSettings).parse({}),
);
