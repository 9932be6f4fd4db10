import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { encodePem } from '../../src/core/pem.ts';
import {
  assembleSigned,
  encodeTbsCertificate,
  type TbsCertificate,
} from '../../src/x509/certificate.ts';
import { parseCsr } from '../../src/x509/csr.ts';
import {
  basicConstraints,
  type Extension,
  subjectAltName,
  subjectKeyIdentifier,
} from '../../src/x509/extensions.ts';
import { keyUsage } from '../../src/x509/key-usages.ts';
import { keyIdentifier, publicKeyInfo } from '../../src/x509/keys.ts';
import { encodeSubject } from '../../src/x509/names.ts';
import { makeCertificate } from './made-certificate.ts';

export interface Pair {
  key: KeyObject;
  key_pem: string;
  pem: string;
}

/** A certificate for TLS, by itself unless somebody signs it. */
export function makePair(
  subject: string,
  by?: Pair & { subject: string },
): Pair & { subject: string } {
  const { privateKey: key } = generateKeyPairSync('ed25519');
  const isCa = by === undefined;
  const extensions: Extension[] = isCa
    ? [basicConstraints({ ca: true }), subjectKeyIdentifier(keyIdentifier(publicKeyInfo(key)))]
    : [subjectAltName({ dns: [subject], email: [], ip: ['127.0.0.1'], uri: [], other: [] }, false)];
  const { raw } = makeCertificate({
    subject,
    issuer: by?.subject ?? subject,
    key,
    signer: by?.key ?? key,
    extensions,
  });
  const key_pem = String(key.export({ type: 'pkcs8', format: 'pem' }));
  return { subject, key, key_pem, pem: `${encodePem('CERTIFICATE', raw)}\n` };
}

/** What a service was asked. */
export interface Asked {
  request_uuid: string;
  user_request_key_values: Record<string, unknown>;
  identity_request_key_values?: Record<string, unknown>;
  vault_request_values: Record<string, unknown>;
  [other: string]: unknown;
}

/** An answer: its JSON, or all that is written. */
export type Answered =
  | Record<string, unknown>
  | { status?: number; headers?: Record<string, string>; text: string }
  | 'never'
  | 'cut';

export interface PolicyService {
  url: string;
  port: number;
  ca: Pair & { subject: string };
  server: Pair;
  client: Pair;
  asked: Asked[];
  clients: string[];
  answer: (asked: Asked) => Answered | Promise<Answered>;
}

const SIGNER = generateKeyPairSync('ed25519').privateKey;

/** A certificate as a service makes it out: for the key that it was sent, signed by nobody in particular. */
export function makeOut(
  csr: string,
  wanted: Partial<TbsCertificate> & { common_name?: string; dns?: string[]; ca?: boolean } = {},
): string {
  const { common_name = 'made.example.com', dns = [common_name], ca = false, ...rest } = wanted;
  const now = Math.floor(Date.now() / 1000);
  const usage = keyUsage(ca ? ['CertSign', 'CRLSign'] : ['DigitalSignature']);
  const extensions: Extension[] = [
    ...(usage ? [usage] : []),
    ...(ca ? [basicConstraints({ ca: true })] : []),
    ...(dns.length > 0
      ? [subjectAltName({ dns, email: [], ip: [], uri: [], other: [] }, false)]
      : []),
  ];
  const serialNumber = randomBytes(16);
  serialNumber[0] = 0x5a;
  const tbs = encodeTbsCertificate({
    serialNumber,
    signatureAlgorithm: 'PureEd25519',
    issuer: encodeSubject({ common_name: 'the service' }),
    notBefore: now - 60,
    notAfter: now + 3600,
    subject: encodeSubject({ common_name }),
    subjectPublicKeyInfo: parseCsr(csr).subjectPublicKeyInfo,
    extensions,
    ...rest,
  });
  return encodePem('CERTIFICATE', assembleSigned(tbs, 'PureEd25519', sign(null, tbs, SIGNER)));
}

export const csrOf = ({ user_request_key_values }: Asked): string =>
  String(user_request_key_values.csr);

/** A service that grants everything until told otherwise, and asks for a certificate of its CA. */
export async function startPolicyService(
  test: { after(stop: () => Promise<void> | void): void },
  host = '127.0.0.1',
): Promise<PolicyService> {
  const ca = makePair('Policy CA');
  const server = makePair('localhost', ca);
  const client = makePair('gatehouse', ca);
  const asked: Asked[] = [];
  const clients: string[] = [];
  const service: PolicyService = {
    url: '',
    port: 0,
    ca,
    server,
    client,
    asked,
    clients,
    answer: (one) => ({ certificate: makeOut(csrOf(one)), store_certificate: true }),
  };
  const listener = createServer(
    {
      key: server.key_pem,
      cert: server.pem,
      ca: ca.pem,
      requestCert: true,
      rejectUnauthorized: true,
    },
    async (request, response) => {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part);
      const one: Asked = JSON.parse(Buffer.concat(parts).toString('utf8'));
      asked.push(one);
      const socket = request.socket as TLSSocket;
      clients.push(String(socket.getPeerCertificate().subject?.CN));
      const answered = await service.answer(one);
      if (answered === 'never') return;
      if (answered === 'cut') {
        response.writeHead(200, { 'content-length': '1000' });
        response.write('{');
        setTimeout(() => socket.destroy(), 50);
        return;
      }
      const raw = 'text' in answered ? answered : undefined;
      const text = JSON.stringify({ request_uuid: one.request_uuid, ...answered });
      response.writeHead(Number(raw?.status ?? 200), Object(raw?.headers));
      response.end(raw ? String(raw.text) : text);
    },
  );
  listener.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => listener.listen(0, host, resolve));
  test.after(() => {
    listener.closeAllConnections();
    listener.close();
  });
  service.port = (listener.address() as AddressInfo).port;
  service.url = `https://${host === '127.0.0.1' ? 'localhost' : host}:${service.port}/decide`;
  return service;
}
