import { constants, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http, { type Server } from 'node:http';
import https from 'node:https';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Listener } from '../config/config.ts';
import { GatheredRequest } from './request-body.ts';

/** The parser refuses a longer head itself; a path has its own limit below it. */
const MAX_HEADER_SIZE = 16 * 1024;

/** A certificate and its key, as their files have them, and what goes with them. */
export interface TlsFiles {
  cert: Uint8Array;
  key: Uint8Array;
  /** By which clients take up sessions again: of several threads one knows the tickets of all. */
  ticket_keys: Uint8Array;
}

/** A name, a key of a cipher and one of a MAC, as the runtime takes them. */
const TICKET_KEYS_LENGTH = 48;

/**
 * Opens Node's server, with the limits that its parser and its timers keep.
 *
 * @param files read already; absent: they are read here
 */
export function openServer({ tls, connections: limits }: Listener, files?: TlsFiles): Server {
  const options = {
    maxHeaderSize: MAX_HEADER_SIZE,
    IncomingMessage: GatheredRequest,
    headersTimeout: Math.min(limits.header_ms, limits.request_ms),
    requestTimeout: limits.request_ms,
    keepAliveTimeout: limits.idle_ms,
    // Connections are looked at so often: what is late is so by half at the most.
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(limits.header_ms / 2)),
    // Node's own refusal has none of our headers; see `faultOfHost`.
    requireHostHeader: false,
  };
  if (!tls) return http.createServer(options);
  const secure = {
    ...options,
    ...secureBy(files ?? readTls(tls)),
    handshakeTimeout: limits.header_ms,
  };
  return https.createServer(secure);
}

/** @throws Error where a file cannot be read, or what they have is no certificate and its key */
export function readTls(tls: { cert_file: string; key_file: string }): TlsFiles {
  const files = { cert: readFileSync(tls.cert_file), key: readFileSync(tls.key_file) };
  createSecureContext(files);
  return { ...files, ticket_keys: randomBytes(TICKET_KEYS_LENGTH) };
}

export function secureBy({ cert, key, ticket_keys }: TlsFiles): SecureContextOptions {
  return {
    cert: Buffer.from(cert),
    key: Buffer.from(key),
    ticketKeys: Buffer.from(ticket_keys),
    minVersion: 'TLSv1.2',
    // Another handshake on the same connection would be made out of turn.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}
