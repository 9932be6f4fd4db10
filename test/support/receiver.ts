import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { encodePem } from '../../src/core/pem.ts';
import {
  basicConstraints,
  subjectAltName,
  subjectKeyIdentifier,
} from '../../src/x509/extensions.ts';
import { keyIdentifier, publicKeyInfo } from '../../src/x509/keys.ts';
import { makeCertificate } from './made-certificate.ts';

/** A key and a certificate for 127.0.0.1 and localhost, by a CA of its own. */
export function makeServerPair(): { ca: string; key: string; cert: string } {
  const [ca, own] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
  const root = makeCertificate({
    subject: 'test receivers',
    issuer: 'test receivers',
    key: ca.privateKey,
    signer: ca.privateKey,
    extensions: [
      basicConstraints({ ca: true }),
      subjectKeyIdentifier(keyIdentifier(publicKeyInfo(ca.privateKey))),
    ],
  });
  const names = { dns: ['localhost'], email: [], ip: ['127.0.0.1'], uri: [], other: [] };
  const leaf = makeCertificate({
    subject: 'receiver',
    issuer: 'test receivers',
    key: own.privateKey,
    signer: ca.privateKey,
    extensions: [subjectAltName(names, false)],
  });
  return {
    ca: `${encodePem('CERTIFICATE', root.raw)}\n`,
    key: String(own.privateKey.export({ type: 'pkcs8', format: 'pem' })),
    cert: `${encodePem('CERTIFICATE', leaf.raw)}\n`,
  };
}

/** A message as it was posted. */
export interface Posted {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Receiver {
  url: string;
  posted: Posted[];
  /** What it answers with. */
  status: number;
  /** A message that has this in it is answered with 400. */
  refuses: string | undefined;
  headers: Record<string, string>;
  /** Takes a message and says nothing. */
  silent: boolean;
}

/** A receiver of webhooks that speaks HTTPS. */
export async function startReceiver(
  suite: { after(stop: () => Promise<void>): void },
  pair: { key: string; cert: string },
): Promise<Receiver> {
  const usual = { status: 204, headers: {}, silent: false, refuses: undefined };
  const receiver: Receiver = { url: '', posted: [], ...usual };
  const onRequest: RequestListener = (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => {
      body += part;
    });
    request.on('end', () => {
      receiver.posted.push({ path: request.url ?? '', headers: request.headers, body });
      const { refuses, status, headers } = receiver;
      const isRefused = refuses !== undefined && body.includes(refuses);
      if (!receiver.silent) response.writeHead(isRefused ? 400 : status, headers).end();
    });
  };
  const server = createServer(pair, onRequest);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  receiver.url = `https://localhost:${(server.address() as AddressInfo).port}`;
  suite.after(async () => {
    server.closeAllConnections();
    server.close();
  });
  return receiver;
}
