import { constants } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import Fastify, { type FastifyInstance } from 'fastify';
import type { App } from '../app.ts';
import { doFor } from '../core/asking.ts';
import { Failure } from '../core/failure.ts';
import { isOwnHost } from '../core/host.ts';
import { isBoundaryTarget } from './boundary-path.ts';
import { handleBoundary } from './boundary-pipeline.ts';
import { refuseClient } from './client-error.ts';
import { COMMON_HEADERS } from './common-headers.ts';
import { Connections, noteWork } from './connections.ts';
import { feedInTurns, noteHead } from './feeding.ts';
import { TrustedProxies } from './forwarded.ts';
import { onGone } from './gone.ts';
import { shakeInTurns } from './handshakes.ts';
import { answerHealth, isHealthTarget } from './health.ts';
import { faultOfHost } from './host-header.ts';
import { acceptListVerb } from './list-verb.ts';
import { handle } from './pipeline.ts';
import type { HttpRequest } from './request.ts';
import { GatheredRequest } from './request-body.ts';
import { batchSending, peerOf, send } from './sending.ts';
import type { Routers } from './target.ts';
import { refusal as refuseBoundary } from './wire/boundary.ts';
import { type Dressed, dressFailure, refusal } from './wire/vault.ts';

/** The parser refuses a longer head itself; a path has its own limit below it. */
const MAX_HEADER_SIZE = 16 * 1024;

/** A listener and what can be done to it while it runs. */
export interface HttpServer {
  /** For tests without a socket. */
  readonly fastify: FastifyInstance;
  listen(address: { host: string; port: number }): Promise<{ host: string; port: number }>;
  /** Reads the certificate files anew; new connections get the new certificate. */
  reloadTls(): void;
  /** Bytes that are kept for clients now: of requests, and of answers that they have not taken. */
  held(): { bodies: number; unsent: number };
  /** Takes no new request, lets those under way finish, then closes. */
  close(): Promise<void>;
}

/** Builds the HTTP server over compiled routes. */
export function createServer(app: App, routers: Routers): HttpServer {
  const { tls } = app.config;
  const limits = app.config.connections;
  const parser = {
    maxHeaderSize: MAX_HEADER_SIZE,
    IncomingMessage: GatheredRequest,
    headersTimeout: Math.min(limits.header_ms, limits.request_ms),
    // Connections are looked at so often: what is late is so by half at the most.
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(limits.header_ms / 2)),
    // Node's own refusal has none of our headers; see `faultOfHost`.
    requireHostHeader: false,
  };
  const options = {
    logger: false,
    exposeHeadRoutes: false,
    // Every request goes to the one route below: our own router reads the path, once.
    rewriteUrl: () => '/',
    bodyLimit: Number.MAX_SAFE_INTEGER,
    clientErrorHandler: refuseClient,
    return503OnClosing: true,
    forceCloseConnections: 'idle' as const,
    requestTimeout: limits.request_ms,
    keepAliveTimeout: limits.idle_ms,
  };
  const fastify: FastifyInstance = tls
    ? // The HTTPS instance differs in its type parameters only.
      (Fastify({
        ...options,
        https: {
          ...readTls(tls),
          ...parser,
          handshakeTimeout: limits.header_ms,
        },
      }) as never)
    : Fastify({ ...options, http: parser });
  fastify.addHttpMethod('LINK', { hasBody: false });
  fastify.removeAllContentTypeParsers();
  // Bodies are read later, by the pipeline, once it knows how much the endpoint may take.
  fastify.addContentTypeParser('*', (_request, _payload, done) => done(null));
  let isClosing = false;
  const fail = (response: ServerResponse, err: unknown): void => {
    app.log.error({ err }, 'an answer could not be sent');
    response.destroy();
  };
  const sendSoon = batchSending(({ request, response, dressed, asker }) => {
    // A long answer would be made for nobody.
    if (response.closed) return;
    try {
      if (isClosing) response.setHeader('connection', 'close');
      const kept = send(request, response, dressed, asker);
      connections.sent(response, kept);
    } catch (error) {
      fail(response, error);
    }
  });
  const proxies = new TrustedProxies(limits.trusted_proxies);
  const connections = new Connections(limits, proxies.has);
  const { allowed_hosts } = app.config;
  // Most requests name the same host at the same address as the one before.
  let ours: { host: string | undefined; address: string | undefined } | undefined;
  const isForUs = ({ headers: { host }, socket: { localAddress } }: IncomingMessage): boolean => {
    if (allowed_hosts === undefined) return true;
    if (ours && host === ours.host && localAddress === ours.address) return true;
    const isOwn = isOwnHost({ host, local_address: localAddress }, allowed_hosts);
    if (isOwn) ours = { host, address: localAddress };
    return isOwn;
  };
  const refuse = (request: IncomingMessage, response: ServerResponse, fault: Fault): void =>
    sendSoon({ request, response, dressed: refuseAll(targetOf(request), fault) });
  const answer: RequestListener = (request, response) => {
    const client = proxies.clientOf(
      peerOf(request),
      request.headers['x-forwarded-for']?.toString(),
    );
    if ('because' in client) {
      refuse(request, response, {
        status: 400,
        because: `X-Forwarded-For names ${client.because}`,
      });
      return;
    }
    const read = readRequest(request, response, client.address);
    if (!isForUs(request)) {
      refuse(request, response, NOT_OURS);
      return;
    }
    if (isHealthTarget(read.url)) {
      sendSoon({ request, response, dressed: answerHealth(app, read, isClosing) });
      return;
    }
    const answering = doFor(read.remote_address, () =>
      isBoundaryTarget(read.url)
        ? handleBoundary(app, routers.boundary, read)
        : handle(app, routers, read),
    );
    noteWork(response, answering);
    answering.then(
      (dressed) => sendSoon({ request, response, dressed, asker: read.remote_address }),
      (err: unknown) => fail(response, err),
    );
  };
  fastify.all('/', (request, reply) => {
    reply.hijack();
    answer(request.raw, reply.raw);
  });
  fastify.setErrorHandler((error, request, reply) => {
    const dressed = dressFailure(error) ?? dressFailure(new Failure('invalid', 'bad request'));
    if (!dressed) return reply.code(500).send();
    reply.hijack();
    send(request.raw, reply.raw, dressed);
  });
  const server = fastify.server as Server;
  // Of so many fields the rest is not seen here: such a head is refused. Trailers, which nobody reads, end there.
  server.maxHeadersCount = MOST_FIELDS;
  if (tls) shakeInTurns(server, limits.header_ms);
  app.onClose(connections.watch(server));
  const isDirect = (request: IncomingMessage): boolean => !isClosing && isOfApi(request);
  answerDirectly(server, connections, { isDirect, answer, refuse });
  acceptListVerb(server, tls !== undefined);
  feedInTurns(server, tls !== undefined);
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
    held: () => ({ bodies: connections.bodies.held, unsent: connections.unsent.held }),
    close() {
      isClosing = true;
      // Who was answered before the request was whole becomes idle only once the rest has come.
      const idle = setInterval(() => server.closeIdleConnections(), 250);
      return fastify.close().finally(() => clearInterval(idle));
    },
  };
}

/** Browsers and proxies send some dozens. */
const MOST_FIELDS = 200;

/** What keeps a request from being looked at at all. */
interface Fault {
  status: 400 | 417 | 421 | 431;
  because: string;
}

/** In the words of whichever API the path belongs to. What follows on the connection is not read. */
function refuseAll(target: string, { status, because }: Fault): Dressed {
  const dressed = isBoundaryTarget(target)
    ? refuseBoundary(status, { kind: 'InvalidArgument', message: because })
    : refusal(status, [because]);
  return { ...dressed, headers: { ...dressed.headers, connection: 'close' } };
}

const NOT_OURS: Fault = {
  status: 421,
  because: "this server does not answer to the name in the request's Host header",
};
const TOO_MANY_FIELDS: Fault = {
  status: 431,
  because: `a request has fewer than ${MOST_FIELDS} header fields`,
};
const UNKNOWN_EXPECTATION: Fault = {
  status: 417,
  because: 'the only expectation that is met is 100-continue',
};

function readTls(tls: { cert_file: string; key_file: string }): SecureContextOptions {
  return {
    cert: readFileSync(tls.cert_file),
    key: readFileSync(tls.key_file),
    minVersion: 'TLSv1.2',
    // Another handshake on the same connection would be made out of turn.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
  };
}

/**
 * Answers the API's requests without the framework's own steps for each, which took a fifth
 * of the CPU time of a read: there is one handler, and it needs none of them. Other paths, and everything
 * once the server is closing, go the framework's way.
 */
function answerDirectly(
  server: Server,
  connections: Connections,
  ways: {
    isDirect: (request: IncomingMessage) => boolean;
    answer: RequestListener;
    refuse(request: IncomingMessage, response: ServerResponse, fault: Fault): void;
  },
): void {
  const others = server.listeners('request');
  server.removeAllListeners('request');
  const begin: RequestListener = (request, response) => {
    const because = faultOfHost(request.rawHeaders, request.httpVersion);
    if (request.rawHeaders.length >= 2 * MOST_FIELDS)
      ways.refuse(request, response, TOO_MANY_FIELDS);
    else if (because !== undefined) ways.refuse(request, response, { status: 400, because });
    else if (ways.isDirect(request)) ways.answer(request, response);
    else {
      // What the framework answers by itself has them, too.
      for (const [name, value] of Object.entries(COMMON_HEADERS)) response.setHeader(name, value);
      for (const other of others) other.call(server, request, response);
    }
  };
  const inTurn =
    (next: RequestListener): RequestListener =>
    (request, response) => {
      noteHead(request);
      connections.begin(request, response, () => next(request, response));
    };
  server.on('request', inTurn(begin));
  server.on(
    'checkContinue',
    inTurn((request, response) => {
      // Only whoever may have the body read is to send it; Node would ask everybody for it at once.
      if (request instanceof GatheredRequest) request.askForBody = () => response.writeContinue();
      begin(request, response);
    }),
  );
  server.on(
    'checkExpectation',
    inTurn((request, response) => ways.refuse(request, response, UNKNOWN_EXPECTATION)),
  );
}

const isOfApi = ({ url }: IncomingMessage): boolean => url?.startsWith('/v1/') ?? false;

const targetOf = (request: IncomingMessage & { originalUrl?: string }): string =>
  request.originalUrl ?? request.url ?? '';

function readRequest(
  request: IncomingMessage,
  response: ServerResponse,
  remote_address: string,
): HttpRequest {
  return {
    method: request.method ?? '',
    url: targetOf(request),
    headers: request.headers,
    raw_headers: request.rawHeaders,
    remote_address,
    readBody: (limit) =>
      request instanceof GatheredRequest
        ? request.readBody(limit)
        : Promise.reject(new Failure('invalid', 'the request has no body')),
    hasCome: () => request.complete,
    keep: (bytes) => {
      if (request instanceof GatheredRequest) request.keep(bytes);
    },
    onGone: (listener) => onGone(response, listener),
  };
}
