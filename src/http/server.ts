import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { App } from '../app/app.ts';
import type { Listener } from '../config/config.ts';
import { invalid } from '../core/failure.ts';
import { doRequest } from '../core/fairness/asking.ts';
import { isOwnHost } from '../core/host.ts';
import { FeedTurns } from '../sockets/feed.ts';
import { shakeInTurns } from '../sockets/handshakes.ts';
import { peerOf } from '../sockets/peer.ts';
import { Beginnings } from './beginnings.ts';
import { refuseInTurns } from './client-error.ts';
import { Connections } from './connections.ts';
import { decipherInTurns } from './deciphering.ts';
import { closeServer, findPlaces, firstDoor, listen, openDoors } from './doors.ts';
import { encipherInSlices } from './enciphering.ts';
import {
  MANY_UNATTENDED,
  MOST_FIELDS,
  NOT_OURS,
  type Refuse,
  refuseAll,
  UNKNOWN_EXPECTATION,
} from './faults.ts';
import { feedInTurns } from './feeding.ts';
import { TrustedProxies } from './forwarded.ts';
import type { RequestHandler } from './frame.ts';
import { onGone } from './gone.ts';
import { beginInTurn, goOnInTurn } from './in-turn.ts';
import { answerRequests } from './incoming.ts';
import { closeInTurns } from './leaving.ts';
import { acceptListVerb } from './list-verb.ts';
import { weighAnswer } from './long-answers.ts';
import { openServer, readTls, secureBy, type TlsFiles } from './node-server.ts';
import { readPassedOn } from './passed-on.ts';
import type { HttpRequest } from './request.ts';
import { GatheredRequest } from './request-body.ts';
import { batchSending, type Outgoing, send } from './sending.ts';
import type { Unattended } from './unattended.ts';

/** A listener and what can be done to it while it runs. */
export interface HttpServer {
  readonly server: Server;
  /** @param at.isShared others of this process listen there as well */
  listen(
    address: { host: string; port: number },
    at?: { isShared: boolean },
  ): Promise<{ host: string; port: number }>;
  /** Reads the certificate files anew, unless it is given them; new connections get the new certificate. */
  reloadTls(files?: TlsFiles): void;
  /** Bytes that are kept for clients now: of requests, of answers that they have not taken, and that wait to begin. */
  held(): { bodies: number; unsent: number; waiting: number };
  /** How many connections there are, by whatever door. */
  countConnections(): number;
  /** Takes no new request, lets those under way finish, then closes. */
  close(): Promise<void>;
}

/**
 * A closing server waits so many milliseconds for work whose clients have gone: it may have to give back credentials of
 * other servers that are stored nowhere here.
 */
const UNATTENDED_MS = 30_000;

/**
 * Builds the HTTP server of one listener.
 *
 * @param compile finds who answers a target
 * @param files of its TLS, where they were read already
 */
export function createServer(
  app: App,
  listener: Listener,
  compile: (closing: { readonly isClosing: boolean }) => (target: string) => RequestHandler,
  files?: TlsFiles,
): HttpServer {
  const { tls, connections: limits } = listener;
  const proxies = new TrustedProxies(limits.trusted_proxies);
  const connections = new Connections(limits, proxies.has);
  const closing: Closing = { isClosing: false };
  const { unattended } = connections;
  const beginnings = new Beginnings();
  const outgoing = sendingOf(app, connections, closing);
  const handlerOf = compile(closing);
  const refuse: Refuse = (request, response, fault) =>
    outgoing.sendSoon({
      request,
      response,
      encoded: refuseAll(handlerOf(targetOf(request)), fault),
    });
  const parts = { proxies, refuse, outgoing, unattended, beginnings };
  const answer = answererOf(listener, handlerOf, parts);
  const turns = new FeedTurns(() => beginnings.isBehind);
  const server = openServer(listener, files);
  server.on('clientError', refuseInTurns(turns));
  // Node drops header fields beyond these, so a head that has as many is refused. Trailers, which nobody reads, are cut.
  server.maxHeadersCount = MOST_FIELDS;
  if (tls) {
    decipherInTurns(server, turns);
    shakeInTurns(server, limits.header_ms, { turns });
    server.on('secureConnection', encipherInSlices);
  }
  closeInTurns(server, tls !== undefined, turns);
  app.onClose(connections.watch(server));
  answerRequests(server, connections, { isClosing: () => closing.isClosing, answer, refuse });
  acceptListVerb(server, tls !== undefined);
  feedInTurns(server, tls !== undefined, turns);
  if (limits.proxy_protocol) readPassedOn(server, proxies.has, limits.header_ms);
  let closeDoors = async (): Promise<void> => {};
  return {
    server,
    async listen(address, at) {
      const [first, ...others] = await findPlaces(address);
      await listen(server, await firstDoor(first, at));
      // A connection that could not be accepted concerns no other.
      server.on('error', (err) => app.log.warn({ err }, 'a connection could not be accepted'));
      closeDoors = await openDoors(
        server,
        others.map(({ host }) => host),
        at,
      );
      const bound = server.address();
      return typeof bound === 'object' && bound
        ? { host: bound.address, port: bound.port }
        : address;
    },
    reloadTls(given) {
      const setContext: unknown = Reflect.get(server, 'setSecureContext');
      if (tls && typeof setContext === 'function') {
        // Checked first, so that a broken file leaves the old certificate in use.
        setContext.call(server, secureBy(given ?? readTls(tls)));
      }
    },
    countConnections: () => connections.count,
    held: () => ({
      bodies: connections.bodies.held,
      unsent: connections.unsent.held,
      waiting: connections.waiting,
    }),
    close() {
      closing.isClosing = true;
      // Who was answered before the request was whole becomes idle only once the rest has come.
      const idle = setInterval(() => server.closeIdleConnections(), 250);
      const closed = [closeDoors(), closeServer(server)];
      return Promise.all(closed)
        .then(() => unattended.whenOver(UNATTENDED_MS))
        .finally(() => clearInterval(idle));
    },
  };
}

/** Whether no new request is taken any more. */
interface Closing {
  isClosing: boolean;
}

interface Sending {
  sendSoon: ReturnType<typeof batchSending>;
  fail(response: ServerResponse, err: unknown): void;
}

function sendingOf(app: App, connections: Connections, closing: Closing): Sending {
  const fail = (response: ServerResponse, err: unknown): void => {
    app.log.error({ err }, 'an answer could not be sent');
    response.destroy();
  };
  const sendNow = ({ request, response, encoded, asker }: Outgoing): void => {
    try {
      if (closing.isClosing) response.setHeader('connection', 'close');
      const kept = send(request, response, encoded, asker);
      connections.sent(response, kept);
    } catch (error) {
      fail(response, error);
    }
  };
  const sendSoon = batchSending((outgoing) => {
    const { request, response, encoded } = outgoing;
    // A long answer would be made for nobody.
    if (response.closed) return;
    const weight = weighAnswer(request.method, encoded);
    if (!weight) sendNow(outgoing);
    else connections.sendInTurn(response, { weight, ...encoded }, () => sendNow(outgoing));
  });
  return { sendSoon, fail };
}

/** Answers whatever is asked of the API. */
function answererOf(
  { allowed_hosts }: Listener,
  handlerOf: (target: string) => RequestHandler,
  parts: {
    proxies: TrustedProxies;
    refuse: Refuse;
    outgoing: Sending;
    unattended: Unattended;
    beginnings: Beginnings;
  },
): RequestListener {
  const { proxies, refuse, unattended, beginnings } = parts;
  const { sendSoon, fail } = parts.outgoing;
  const isForUs = hostCheckOf(allowed_hosts);
  return (request, response) => {
    const client = proxies.clientOf(
      peerOf(request),
      request.headers['x-forwarded-for']?.toString(),
    );
    if ('because' in client) {
      const because = `X-Forwarded-For names ${client.because}`;
      refuse(request, response, { status: 400, because });
      return;
    }
    const read = readRequest(request, response, client.address);
    if (!isForUs(request)) {
      refuse(request, response, NOT_OURS);
      return;
    }
    const expectsUnknown = request instanceof GatheredRequest && request.expectsUnknown;
    const handler = handlerOf(read.url);
    const hasRoom = unattended.hasRoomFor(read.remote_address);
    const fault = !hasRoom ? MANY_UNATTENDED : expectsUnknown ? UNKNOWN_EXPECTATION : undefined;
    const work = () =>
      fault ? handler.refuseUnread(read, fault) : beginnings.begin(() => handler.handle(read));
    const atOnce = expectsUnknown ? undefined : handler.answerAtOnce?.(read);
    const answering = atOnce ?? doRequest(read.remote_address, () => beginInTurn(request, work));
    // Resolves without the answer: an idle connection keeps its last request, and would keep the answer with it.
    const answered = answering.then(
      (encoded) => sendSoon({ request, response, encoded, asker: read.remote_address }),
      (err: unknown) => fail(response, err),
    );
    if (request instanceof GatheredRequest) {
      request.work = answered;
      request.asker = read.remote_address;
    }
  };
}

/** @param allowed_hosts absent: a server that answers to any */
function hostCheckOf(
  allowed_hosts: Listener['allowed_hosts'],
): (request: IncomingMessage) => boolean {
  if (allowed_hosts === undefined) return () => true;
  // Most requests name the same host at the same address as the one before.
  let ours: { host: string | undefined; address: string | undefined } | undefined;
  return ({ headers: { host }, socket: { localAddress } }) => {
    if (ours && host === ours.host && localAddress === ours.address) return true;
    const isOwn = isOwnHost({ host, local_address: localAddress }, allowed_hosts);
    if (isOwn) ours = { host, address: localAddress };
    return isOwn;
  };
}

const targetOf = ({ url = '' }: IncomingMessage): string => url;

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
        ? request.readBody(limit).then(goOnInTurn)
        : Promise.reject(invalid('the request has no body')),
    hasCome: () => request.complete,
    keep: (bytes) => {
      if (request instanceof GatheredRequest) request.keep(bytes);
    },
    onGone: (listener) => onGone(response, listener),
  };
}
