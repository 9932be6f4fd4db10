import { constants } from 'node:crypto';
import { DEFAULT_CIPHERS, type SecureContextOptions, TLSSocket } from 'node:tls';

/** `SSL_OP_NO_RX_CERTIFICATE_COMPRESSION`, which the runtime has no name for. */
const NO_COMPRESSED_CERTIFICATES = 2 ** 33;

/** How connections to servers of others are secured. */
export const CLIENT_TLS: SecureContextOptions = {
  minVersion: 'TLSv1.2',
  // A server chooses the numbers of these, and ten thousand bits take seconds.
  ciphers: `${DEFAULT_CIPHERS}:!DHE`,
  // It would send its certificates again and again, or in a form that is not looked into.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION + NO_COMPRESSED_CERTIFICATES,
};

/**
 * Keeps the runtime from asking for a certificate together with those above it, which may be each other's: it would follow
 * them for ever.
 */
export function withoutIssuers(secured: TLSSocket): TLSSocket {
  return Object.assign(secured, {
    getPeerCertificate: () => TLSSocket.prototype.getPeerCertificate.call(secured),
  });
}
