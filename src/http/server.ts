import { readFileSync } from 'node:fs';
import type { IncomingMessage, Server } from 'node:http';
import { Readable } from 'node:stream';
import { createSecureContext } from 'node:tls';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { App } from '../app.ts';
import { Failure } from '../core/failure.ts';
import { acceptListVerb } from './list-verb.ts';
import { type HttpRequest, handle, type Routers } from './pipeline.ts';
import { type Dressed, dressFailure } from './wire/vault.ts';

/** The parser refuses a longer head itself; a path has its own limit below it. */
const MAX_HEADER_SIZE = 16 * 1024;

/** A listener and what can be done to it while it runs. */
export interface HttpServer {
  /** For tests without a socket. */
  readonly fastify: FastifyInstance;
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number }>;
  /** Reads the certificate files anew; new connections get the new certificate. */
  reloadTls(): void;
  /** Takes no new request, lets those under way finish, then closes. */
  close(): Promise<void>;
}

/** Builds the HTTP server over compiled routes. */
export function createServer(app: App, routers: Routers): HttpServer {
  const { tls } = app.config;
  const options = {
    logger: false,
    exposeHeadRoutes: false,
    // Every request goes to the one route below: our own router reads the path, once.
    rewriteUrl: () => '/',
    bodyLimit: Number.MAX_SAFE_INTEGER,
    return503OnClosing: true,
    forceCloseConnections: 'idle' as const,
    requestTimeout: 120_000,
    keepAliveTimeout: 75_000,
  };
  const fastify: FastifyInstance = tls
    ? // The HTTPS instance differs in its type parameters only.
      (Fastify({
        ...options,
        https: { ...readTls(tls), maxHeaderSize: MAX_HEADER_SIZE, minVersion: 'TLSv1.2' },
      }) as never)
    : Fastify({ ...options, http: { maxHeaderSize: MAX_HEADER_SIZE } });
  fastify.addHttpMethod('LINK', { hasBody: false });
  fastify.removeAllContentTypeParsers();
  // Bodies are read later, by the pipeline, once it knows how much the endpoint may take.
  fastify.addContentTypeParser('*', (_request, _payload, done) => done(null));
  fastify.all('/', async (request, reply) => {
    const dressed = await handle(app, routers, readRequest(request));
    return send(request, reply, dressed);
  });
  fastify.setErrorHandler((error, request, reply) => {
    const dressed = dressFailure(error) ?? dressFailure(new Failure('invalid', 'bad request'));
    return dressed ? send(request, reply, dressed) : reply.code(500).send();
  });
  acceptListVerb(fastify.server as Server, tls !== undefined);
  return {
    fastify,
    async listen(address) {
      await fastify.listen(address);
      const bound = fastify.server.address();
      return typeof bound === 'object' && bound
        ? { host: bound.address, port: bound.port }
        : address;
    },
    reloadTls() {
      const setContext: unknown = Reflect.get(fastify.server, 'setSecureContext');
      if (tls && typeof setContext === 'function') {
        const files = readTls(tls);
        // Checked first, so that a broken file leaves the old certificate in use.
        createSecureContext(files);
        setContext.call(fastify.server, files);
      }
    },
    close: () => fastify.close(),
  };
}

function readTls(tls: { cert_file: string; key_file: string }): { cert: Buffer; key: Buffer } {
  return { cert: readFileSync(tls.cert_file), key: readFileSync(tls.key_file) };
}

function readRequest(request: FastifyRequest): HttpRequest {
  return {
    method: request.method,
    url: request.originalUrl,
    headers: request.headers,
    remote_address: request.socket.remoteAddress ?? '',
    readBody: (limit) => readBody(request.raw, limit),
  };
}

const NO_BODY = new Uint8Array(0);

/**
 * Reads a body whole.
 *
 * @throws Failure `too_large` as soon as more than `limit` bytes are announced or have come
 */
function readBody(request: IncomingMessage, limit: number): Promise<Uint8Array> {
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) throw tooLarge(limit);
  if (request.complete && request.readableLength === 0) return Promise.resolve(NO_BODY);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > limit) {
        request.removeAllListeners('data');
        request.resume();
        reject(tooLarge(limit));
        return;
      }
      chunks.push(chunk);
    });
    request.on('end', () =>
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)),
    );
    request.on('error', reject);
    request.on('aborted', () => reject(new Failure('invalid', 'the request body ended early')));
  });
}

function tooLarge(limit: number): Failure {
  return new Failure('too_large', `the request body is larger than the ${limit} bytes taken here`);
}

const COMMON_HEADERS = {
  'cache-control': 'no-store',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
};

function send(request: FastifyRequest, reply: FastifyReply, dressed: Dressed): FastifyReply {
  reply.code(dressed.status).headers(COMMON_HEADERS).headers(dressed.headers);
  const body = typeof dressed.body === 'string' ? Buffer.from(dressed.body, 'utf8') : dressed.body;
  if (request.method === 'HEAD') {
    reply.header('content-length', body?.length ?? 0);
    return reply.send();
  }
  // A refused upload is not read to its end; the connection cannot carry another request.
  if (dressed.status === 413) reply.header('connection', 'close');
  if (body && 'pieces' in body) {
    if (body.length <= SHORT_BODY) return reply.send(Buffer.concat([...body.pieces()]));
    reply.header('content-length', body.length);
    return reply.send(Readable.from(body.pieces(), { objectMode: false }));
  }
  return reply.send(body && asBuffer(body));
}

/** Bodies up to this length are sent in one piece, which is quicker. */
const SHORT_BODY = 256 << 10;

/** The same memory, not a copy of it. */
function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
