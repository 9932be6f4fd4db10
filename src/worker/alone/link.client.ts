import type { Socket } from 'node:net';
import { type ConnectionOptions, connect } from 'node:tls';
import WebSocket, { type ClientOptions } from 'ws';
import { SERVER_NAME } from '../../broker/workers/root/leaf.ts';
import { Failure } from '../../core/failure.ts';
import { encodePem } from '../../core/pem.ts';
import {
  type FromServer,
  type FromWorker,
  LINK_PATH,
  LINK_PROTOCOL,
  MESSAGE_BYTES,
  NOT_KNOWN_CODE,
} from '../link/messages.ts';
import type { Call } from '../upstream.ts';

const PATIENCE_MS = 10_000;
/**
 * A server whose system has not answered by then is asked anew: in a network that has lost what was sent, the system
 * would ask again after twice as long each time, and the grace would be over although the network is there again.
 */
const CONNECT_MS = 2_000;
/** A server that answers nothing for so long is not there. */
const CALL_MS = 30_000;

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Failure): void;
}

/** What a worker does about what its server says unasked. */
export interface Listening {
  welcome(message: FromServer & { type: 'welcome' }): void;
  cut(message: FromServer & { type: 'cut' }): void;
  renewed(message: FromServer & { type: 'renewed' }): void;
  heard(message: FromServer & { type: 'heard' }): void;
  bring(message: FromServer & { type: 'bring' }): void;
}

/** A worker's connection to its server: outbound, both sides proved. */
export class ServerLink {
  readonly #ws: WebSocket;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;
  /** Resolves, with why, when it is over. @throws Failure `forbidden` when the server does not know this worker any more */
  readonly ended: Promise<string>;

  private constructor(ws: WebSocket, listening: Listening) {
    this.#ws = ws;
    ws.on('message', (data) => this.#hear(String(data), listening));
    this.ended = new Promise((resolve, reject) => {
      ws.once('close', (code, reason) => {
        const why = reason.length > 0 ? reason.toString() : `the connection was closed (${code})`;
        for (const { reject } of this.#waiting.values()) reject(unreachable());
        this.#waiting.clear();
        if (code === NOT_KNOWN_CODE) reject(new Failure('forbidden', NOT_KNOWN));
        else resolve(why);
      });
    });
    // It may be over before anybody asks.
    this.ended.catch(() => {});
  }

  /**
   * @throws Failure `forbidden` when the server does not know this worker any more, `unavailable`
   *   when it cannot be reached
   */
  static async open(
    { host, port }: { host: string; port: number },
    credentials: { key: string; certificate: Buffer; roots: Buffer[] },
    listening: Listening,
  ): Promise<ServerLink> {
    const at = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
    // Its types lack the name that the other end is called by.
    const options: ClientOptions & { servername: string } = {
      key: credentials.key,
      cert: encodePem('CERTIFICATE', credentials.certificate),
      ca: credentials.roots.map((root) => encodePem('CERTIFICATE', root)),
      servername: SERVER_NAME,
      minVersion: 'TLSv1.3',
      perMessageDeflate: false,
      handshakeTimeout: PATIENCE_MS,
      createConnection: connectSoon as NonNullable<ClientOptions['createConnection']>,
      maxPayload: MESSAGE_BYTES,
    };
    const ws = new WebSocket(`wss://${at}${LINK_PATH}`, LINK_PROTOCOL, options);
    const link = new ServerLink(ws, listening);
    await new Promise<void>((resolve, reject) => {
      ws.once('open', resolve);
      ws.on('unexpected-response', (_request, response) => {
        ws.terminate();
        const isKnown = response.statusCode !== 403;
        const why = `${at} answered ${response.statusCode}`;
        reject(isKnown ? new Failure('unavailable', why) : new Failure('forbidden', NOT_KNOWN));
      });
      ws.on('error', (cause) => {
        const isStrange = STRANGE.has((cause as NodeJS.ErrnoException).code ?? '');
        reject(
          new Failure('unavailable', `${at}: ${isStrange ? OTHER_ROOTS : cause.message}`, {
            cause,
          }),
        );
      });
    });
    return link;
  }

  get isOpen(): boolean {
    return this.#ws.readyState === WebSocket.OPEN;
  }

  say(message: FromWorker): void {
    if (this.isOpen) this.#ws.send(JSON.stringify(message));
  }

  /** Has the server answer one call. */
  ask(call: Call): Promise<unknown> {
    if (!this.isOpen) return Promise.reject(unreachable());
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => done(() => reject(unreachable())), CALL_MS);
      const done = (settle: () => void): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        settle();
      };
      this.#waiting.set(id, {
        resolve: (answer) => done(() => resolve(answer)),
        reject: (error) => done(() => reject(error)),
      });
      this.say({ type: 'call', id, ...call });
    });
  }

  close(): void {
    this.#ws.close(1000);
    setTimeout(() => this.#ws.terminate(), 1_000).unref();
  }

  /** Lets go of it without a word: the server does not answer. */
  drop(): void {
    this.#ws.terminate();
  }

  /** The server has proved itself: what it says is of its own types. */
  #hear(text: string, listening: Listening): void {
    const message = JSON.parse(text) as FromServer;
    switch (message.type) {
      case 'answered':
        this.#waiting.get(message.id)?.resolve(message.answer);
        break;
      case 'refused':
        this.#waiting.get(message.id)?.reject(new Failure(message.kind, message.message));
        break;
      default: {
        // A server of a later version may say more than this one knows.
        const act = listening[message.type] as ((message: FromServer) => void) | undefined;
        act?.(message);
      }
    }
  }
}

/** @param options of an address by host and port, with all that TLS needs */
function connectSoon(options: ConnectionOptions): Socket {
  const secure = connect({ ...options, path: undefined });
  const timer = setTimeout(() => secure.destroy(new Error('it does not answer')), CONNECT_MS);
  secure.once('connect', () => clearTimeout(timer));
  secure.once('close', () => clearTimeout(timer));
  return secure;
}

const NOT_KNOWN =
  'the server does not know this worker any more: it was deleted, its certificate has run out, or the roots of workers were replaced';

/** What OpenSSL calls a certificate that is under none of the roots that are known. */
const STRANGE: ReadonlySet<string> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Whoever is between the two could say so, too: the worker goes on asking. */
const OTHER_ROOTS =
  'it proves itself under roots that this worker does not know: they were replaced while it was away (create the worker anew then), or this is another server';

export const unreachable = (): Failure =>
  new Failure('unavailable', 'the server cannot be reached');
