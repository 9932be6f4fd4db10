import { createServer, type Server, type TLSSocket } from 'node:tls';
import { sessionKey } from '../../broker/sessions/session-key.ts';
import { encodePem } from '../../core/pem.ts';
import type { SessionGrant } from '../upstream.ts';

/** A client that has begun its handshake has so long to end it. */
const HANDSHAKE_MS = 10_000;

/**
 * The TLS server of one session: it proves itself by the session's certificate, and admits who
 * has that one's key and nobody else.
 *
 * @param admit called with each connection whose client has proved it
 */
export function sessionServer(
  grant: Pick<SessionGrant, 'certificate' | 'private_key'>,
  admit: (secure: TLSSocket) => void,
): Server {
  const certificate = encodePem('CERTIFICATE', grant.certificate);
  const key = sessionKey(grant.private_key).export({ type: 'pkcs8', format: 'pem' });
  const server = createServer({
    key,
    cert: certificate,
    ca: certificate,
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    ALPNCallback: ({ protocols }) => (protocols.includes('http/1.1') ? 'http/1.1' : undefined),
    handshakeTimeout: HANDSHAKE_MS,
    allowHalfOpen: false,
    noDelay: true,
  });
  server.on('secureConnection', (secure) => {
    // The certificate itself, not one that its key has made.
    const shown = secure.getPeerX509Certificate()?.raw;
    if (shown && Buffer.compare(shown, grant.certificate) === 0) admit(secure);
    else secure.destroy();
  });
  server.on('tlsClientError', (_error, secure) => secure.destroy());
  return server;
}
