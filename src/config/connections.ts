import { Failure } from '../core/failure.ts';
import { requireCidrs } from './cidrs.ts';
import { countOf, type Section, secondsOf } from './values.ts';

/** How many connections the listener has, and how long it waits on them. */
export interface ConnectionLimits {
  /** Address blocks of proxies that are believed when they say on whose behalf they ask. */
  trusted_proxies: readonly string[];
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

export const CONNECTION_DEFAULTS: ConnectionLimits = {
  trusted_proxies: [],
  max_connections: 8_192,
  max_connections_per_address: 1_024,
  header_ms: 15_000,
  request_ms: 60_000,
  idle_ms: 75_000,
  answer_ms: 600_000,
};

/** Of `listener` in the configuration file. */
export const CONNECTION_KEYS = [
  'trusted_proxies',
  'max_connections',
  'max_connections_per_address',
  'header_timeout',
  'request_timeout',
  'idle_timeout',
  'answer_timeout',
] as const;

/** @throws Failure `invalid` naming the key */
export function connectionsOf(listener: Section): ConnectionLimits {
  const byDefault = CONNECTION_DEFAULTS;
  const count = (name: 'max_connections' | 'max_connections_per_address'): number => {
    const most = countOf(`listener.${name}`, listener[name], byDefault[name]);
    if (most > 0) return most;
    throw new Failure('invalid', `listener.${name} must be 1 or more`);
  };
  const milliseconds = (name: 'header' | 'request' | 'idle' | 'answer'): number => {
    const key = `${name}_timeout`;
    return secondsOf(`listener.${key}`, listener[key], byDefault[`${name}_ms`] / 1000) * 1000;
  };
  return {
    trusted_proxies: proxiesOf(listener.trusted_proxies),
    max_connections: count('max_connections'),
    max_connections_per_address: count('max_connections_per_address'),
    header_ms: milliseconds('header'),
    request_ms: milliseconds('request'),
    idle_ms: milliseconds('idle'),
    answer_ms: milliseconds('answer'),
  };
}

function proxiesOf(value: unknown): readonly string[] {
  const proxies = value ?? [];
  if (!Array.isArray(proxies) || !proxies.every((one) => typeof one === 'string')) {
    throw new Failure('invalid', 'listener.trusted_proxies must be a list of address blocks');
  }
  requireCidrs('listener.trusted_proxies', proxies);
  return proxies;
}
