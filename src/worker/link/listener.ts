import { generateKeyPairSync, type X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type WebSocket, WebSocketServer } from 'ws';
import type { App } from '../../app/app.ts';
import {
  enrolWorker,
  findWorkerOfKey,
  keyHash,
} from '../../broker/workers/enrolment.operations.ts';
import { LEAF_MS, SERVER_NAME } from '../../broker/workers/root/leaf.ts';
import { makeWorkerLeaf } from '../../broker/workers/root/operations.ts';
import { Failure } from '../../core/failure.ts';
import { encodePem } from '../../core/pem.ts';
import { shakeInTurns } from '../../sockets/handshakes.ts';
import { refuseUpgrade, takeUpgrades } from '../../sockets/upgrades.ts';
import { Newcomers } from '../carrying/newcomers.ts';
import { Tickets } from '../carrying/tickets.ts';
import { HOP_PROTOCOL } from '../wire/hop.ts';
import { LINK_OPTIONS, Link } from './link.ts';
import {
  base64,
  ENROL_PATH,
  type EnrolmentAnswer,
  enrolment,
  LINK_PATH,
  LINK_PROTOCOL,
} from './messages.ts';

const PATIENCE_MS = 10_000;
/** An enrolment is some hundred bytes. */
const ENROLMENT_BYTES = 4 << 10;

/** Where workers that stand alone come to: they alone, each by a certificate of its own. */
export class WorkerListener {
  readonly #app: App;
  readonly #server: Server;
  readonly #upgrades = new WebSocketServer({ ...LINK_OPTIONS, noServer: true });
  readonly #links = new Set<Link>();
  readonly #newcomers: Newcomers;
  /** Of workers that bring this server something. */
  readonly tickets = new Tickets();
  /** Of its certificate towards workers: the root that it is under, and when it was made. */
  #own: { root: string; made_ms: number } | undefined;

  constructor(app: App, newcomers = new Newcomers()) {
    this.#app = app;
    this.#newcomers = newcomers;
    this.#server = createServer({
      requestCert: true,
      ALPNProtocols: ['http/1.1', HOP_PROTOCOL],
      // Who comes for the first time has none; what a certificate is needed for looks at it.
      rejectUnauthorized: false,
      minVersion: 'TLSv1.3',
      handshakeTimeout: PATIENCE_MS,
      headersTimeout: PATIENCE_MS,
      requestTimeout: PATIENCE_MS,
      connectionsCheckingInterval: 1_000,
      maxHeaderSize: 8 << 10,
    });
    this.#takeHops();
    shakeInTurns(this.#server, PATIENCE_MS);
    this.#server.prependListener('connection', (socket: Socket) => newcomers.add(socket));
    this.#server.on('request', (request, response) => void this.#answer(request, response));
    takeUpgrades(this.#server, (request, socket, head) => {
      this.#link(request, socket, head).catch((err: unknown) => {
        this.#app.log.warn({ err }, 'a worker could not be let in');
        socket.destroy();
      });
    });
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  get links(): ReadonlySet<Link> {
    return this.#links;
  }

  /** What is no HTTP does not get there. */
  #takeHops(): void {
    const speaks = this.#server.listeners('secureConnection');
    this.#server.removeAllListeners('secureConnection');
    this.#server.on('secureConnection', (secure: TLSSocket) => {
      if (secure.alpnProtocol === HOP_PROTOCOL) {
        this.tickets.admit(secure, () => this.#newcomers.proved(secure));
      } else for (const speak of speaks) speak.call(this.#server, secure);
    });
  }

  /** @throws Error with a `code` when the address cannot be had */
  listen(at: { host: string; port: number }): Promise<{ host: string; port: number }> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(at.port, at.host, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (err) => {
          this.#app.log.warn({ err }, 'a connection of a worker could not be accepted');
        });
        const { port } = this.#server.address() as AddressInfo;
        resolve({ host: at.host, port });
      });
    });
  }

  /**
   * Proves itself by a certificate under the roots in use: at the unsealing, when half of it is over, and
   * when the roots were replaced.
   *
   * @param root which one is in use
   */
  async renew(root: string): Promise<void> {
    const app = this.#app;
    const own = this.#own;
    if (own && own.root === root && app.now() < own.made_ms + LEAF_MS / 2) return;
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const info = publicKey.export({ type: 'spki', format: 'der' });
    const { certificate, roots } = await makeWorkerLeaf(app, SERVER_NAME, info);
    this.#server.setSecureContext({
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
      cert: encodePem('CERTIFICATE', certificate),
      ca: roots.map((root) => encodePem('CERTIFICATE', root)),
      minVersion: 'TLSv1.3',
    });
    this.#own = { root, made_ms: app.now() };
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const link of this.#links) link.close('the server stops');
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [status, body] = await this.#answerOf(request);
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify(body));
  }

  async #answerOf(request: IncomingMessage): Promise<[status: number, body: object]> {
    if (request.method !== 'POST' || request.url !== ENROL_PATH) {
      return [404, { message: 'there is nothing here but for workers' }];
    }
    try {
      // The one that the worker sees, also when it is being renewed.
      const shown = (request.socket as TLSSocket).getX509Certificate()?.raw;
      return [200, await this.#enrol(await readBody(request), shown)];
    } catch (error) {
      if (error instanceof Failure) {
        return [error.kind === 'unavailable' ? 503 : 403, { message: error.message }];
      }
      this.#app.log.error({ err: error }, 'a worker could not be enrolled');
      return [503, { message: 'the worker could not be enrolled' }];
    }
  }

  async #enrol(body: string, server_certificate?: Uint8Array): Promise<EnrolmentAnswer> {
    if (!server_certificate || this.#app.barrier.sealed) {
      throw new Failure('unavailable', 'the server is sealed');
    }
    const read = enrolment.safeParse(jsonOf(body));
    if (!read.success) throw new Failure('forbidden', NO_ENROLMENT);
    const { public_key, nonce, proof } = read.data;
    const enrolled = await enrolWorker(this.#app, {
      public_key: Buffer.from(public_key, 'base64'),
      nonce: Buffer.from(nonce, 'base64'),
      proof: Buffer.from(proof, 'base64'),
      server_certificate,
    });
    return {
      worker_id: enrolled.worker_id,
      certificate: base64(enrolled.certificate),
      roots: enrolled.roots.map(base64),
      proof: base64(enrolled.proof),
    };
  }

  async #link(request: IncomingMessage, socket: TLSSocket, head: Buffer): Promise<void> {
    const shown = socket.authorized ? socket.getPeerX509Certificate() : undefined;
    const key = shown && spkiOf(shown);
    socket.on('error', () => socket.destroy());
    const isFor = request.url === LINK_PATH && offersLink(request);
    const found = isFor && key ? await this.#workerOf(key) : undefined;
    if (socket.destroyed) return;
    if (!key || !found || 'status' in found) {
      const refused = isFor ? '403 Forbidden' : '404 Not Found';
      refuseUpgrade(socket, found && 'status' in found ? found.status : refused);
      return;
    }
    const { worker_id } = found;
    this.#upgrades.handleUpgrade(request, socket, head, (ws: WebSocket) => {
      this.#newcomers.proved(socket);
      for (const other of this.#links) {
        // It has come anew before its former connection was seen to be gone.
        if (other.worker_id === worker_id) other.close('the worker has come anew');
      }
      const link = new Link(this.#app, ws, { worker_id, key_sha256: keyHash(key) });
      this.#links.add(link);
      ws.once('close', () => this.#links.delete(link));
    });
  }

  async #workerOf(key: Uint8Array): Promise<{ worker_id: string } | { status: string }> {
    try {
      if (this.#app.barrier.sealed) return UNAVAILABLE;
      const worker_id = await findWorkerOfKey(this.#app, key);
      return worker_id === undefined ? { status: '403 Forbidden' } : { worker_id };
    } catch (err) {
      this.#app.log.warn({ err }, 'a worker’s key could not be looked up');
      return UNAVAILABLE;
    }
  }
}

const UNAVAILABLE = { status: '503 Service Unavailable' };

const spkiOf = (certificate: X509Certificate): Uint8Array =>
  certificate.publicKey.export({ type: 'spki', format: 'der' });

const offersLink = ({ headers }: IncomingMessage): boolean =>
  headers['sec-websocket-protocol'] === LINK_PROTOCOL;

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const NO_ENROLMENT = 'this is no enrolment of a worker';

/** @throws Failure `forbidden` for a body that is too long, or breaks off: anybody may send such a one */
async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of request) {
      length += part.length;
      if (length > ENROLMENT_BYTES) break;
      parts.push(part);
    }
  } catch (cause) {
    throw new Failure('forbidden', NO_ENROLMENT, { cause });
  }
  if (length > ENROLMENT_BYTES) throw new Failure('forbidden', NO_ENROLMENT);
  return Buffer.concat(parts).toString('utf8');
}
