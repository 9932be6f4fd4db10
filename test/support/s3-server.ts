/**
 * A server that takes, gives and removes objects as S3 does, and checks the signature of each request by an
 * implementation of its own (AWS Signature Version 4). A real server judges in `test/interop/s3.test.ts`.
 */

import { createHash, createHmac } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

export const S3_KEYS = { access_key_id: 'AKIDEXAMPLE', secret_access_key: 'wJalrXUtnFEMI' };

export interface S3Server {
  url: string;
  objects: Map<string, Buffer>;
  /** What it refuses each request with, if anything. */
  refuse: { status: number; code: string } | undefined;
  close(): Promise<void>;
}

/** @param bucket the only one that there is */
export async function startS3Server(bucket: string, region = 'us-east-1'): Promise<S3Server> {
  const objects = new Map<string, Buffer>();
  const answer = (request: IncomingMessage, body: Buffer): [number, string | Buffer] => {
    if (state.refuse) return [state.refuse.status, errorOf(state.refuse.code)];
    if (!isSigned(request, body, region)) return [403, errorOf('SignatureDoesNotMatch')];
    const [, of, ...rest] = (request.url ?? '').split('/');
    if (of !== bucket) return [404, errorOf('NoSuchBucket')];
    const name = decodeURIComponent(rest.join('/'));
    switch (request.method) {
      case 'PUT':
        objects.set(name, body);
        return [200, ''];
      case 'GET': {
        const object = objects.get(name);
        return object ? [200, object] : [404, errorOf('NoSuchKey')];
      }
      case 'DELETE':
        objects.delete(name);
        return [204, ''];
      default:
        return [405, errorOf('MethodNotAllowed')];
    }
  };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const [status, body] = answer(request, Buffer.concat(parts));
      response.writeHead(status).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const state: S3Server = {
    url: `http://127.0.0.1:${port}`,
    objects,
    refuse: undefined,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return state;
}

const errorOf = (code: string): string =>
  `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`;

const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();

function isSigned(request: IncomingMessage, body: Buffer, region: string): boolean {
  const { headers, method = '', url = '' } = request;
  const given =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (!given) return false;
  const [, id, day = '', at, names = '', signature] = given;
  if (id !== S3_KEYS.access_key_id || at !== region) return false;
  if (headers['x-amz-content-sha256'] !== sha256(body)) return false;
  const signed = names.split(';');
  if (!signed.includes('host') || !signed.includes('x-amz-content-sha256')) return false;
  const lines = signed.map((name) => `${name}:${headers[name]}`).join('\n');
  const canonical = [method, url, '', `${lines}\n`, names, sha256(body)].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const key = [day, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${S3_KEYS.secret_access_key}`,
  );
  return hmac(key, text).toString('hex') === signature;
}
