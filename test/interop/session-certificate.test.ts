import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { connect, createServer } from 'node:tls';
import { makeSessionCertificate } from '../../src/broker/sessions/session-certificate.ts';
import { sessionKey } from '../../src/broker/sessions/session-key.ts';
import { encodePem } from '../../src/core/pem.ts';
import { withOpenssl } from '../support/openssl.ts';

const now = Math.floor(Date.now() / 1000);

function makeSession(session_id = 's_1234567890', worker_addresses = ['127.0.0.1:9202']) {
  const made = makeSessionCertificate({
    session_id,
    worker_addresses,
    seed: randomBytes(32),
    serial: randomBytes(8),
    now,
    expires_at: now + 3600,
  });
  const key = sessionKey(made.private_key).export({ type: 'pkcs8', format: 'pem' }).toString();
  return { cert: encodePem('CERTIFICATE', made.certificate), key };
}

for (const purpose of ['sslserver', 'sslclient']) {
  test(`OpenSSL takes a session's certificate as its own root for ${purpose}`, () => {
    const { cert } = makeSession();
    withOpenssl((openssl) => {
      openssl.write('cert.pem', cert);
      const verify = ['verify', '-x509_strict', '-check_ss_sig', '-purpose', purpose];
      const judged = openssl.run(...verify, '-CAfile', 'cert.pem', 'cert.pem');
      assert.equal(judged.status, 0, judged.text);
    });
  });
}

test('OpenSSL reads what a session certificate says', () => {
  const { cert, key } = makeSession('s_1234567890', ['w.example:1', '127.0.0.1:2', '[::1]:3']);
  withOpenssl((openssl) => {
    openssl.write('cert.pem', cert);
    openssl.write('key.pem', key);
    const text = openssl.must('x509', '-in', 'cert.pem', '-noout', '-text');
    for (const wanted of [
      /Public Key Algorithm: ED25519/,
      /Issuer: \n/,
      /Subject: \n/,
      /X509v3 Basic Constraints: critical\n\s+CA:TRUE\n/,
      /Key Usage: critical\n\s+Digital Signature, Key Encipherment, Key Agreement, Certificate Sign\n/,
      /Extended Key Usage: \n\s+TLS Web Server Authentication, TLS Web Client Authentication\n/,
      /Alternative Name: critical\n\s+DNS:s_1234567890, DNS:w\.example, IP Address:127\.0\.0\.1, IP/,
      /X509v3 Subject Key Identifier: \n/,
    ]) {
      assert.match(text, wanted);
    }
    const ofCertificate = openssl.must('x509', '-in', 'cert.pem', '-noout', '-pubkey');
    assert.equal(openssl.must('pkey', '-in', 'key.pem', '-pubout'), ofCertificate);
  });
});

test('both ends of a TLS 1.3 connection prove themselves with it, and with no other', async () => {
  const session = makeSession();
  const other = makeSession();
  const server = createServer({
    ...session,
    ca: session.cert,
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.3',
    ALPNProtocols: ['http/1.1'],
  });
  server.on('secureConnection', (socket) => socket.on('error', () => {}).end('hello'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  /** What the client hears, or the code of the refusal. */
  const dial = (own: typeof session, trusted: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect({
        port,
        host: '127.0.0.1',
        ...own,
        ca: trusted,
        servername: 's_1234567890',
        ALPNProtocols: ['http/1.1', 's_1234567890'],
      });
      const end = (said: string): void => {
        resolve(said);
        socket.destroy();
      };
      socket.on('data', (data) => end(`${socket.getProtocol()} ${data}`));
      socket.on('error', (error) => end(String(Reflect.get(error, 'code'))));
      socket.on('close', () => end('closed'));
    });
  try {
    assert.equal(await dial(session, session.cert), 'TLSv1.3 hello');
    // The server does not take another session; that session's root does not vouch for the server.
    assert.doesNotMatch(await dial(other, session.cert), /hello/);
    assert.doesNotMatch(await dial(session, other.cert), /hello/);
  } finally {
    server.close();
  }
});
