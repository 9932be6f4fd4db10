import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { SessionGrant, Upstream } from '../upstream.ts';
import { HOP_PROTOCOL, TICKET_BYTES, TICKET_MS, workerOf } from '../wire/hop.ts';
import { dial } from './endpoint.ts';
import { tlsOf, type WorkerCredentials } from './worker-credentials.ts';

/** A worker that has begun to come has so long for its handshake, and for its ticket. */
const PATIENCE_MS = 10_000;

/** Whoever has come with a ticket. */
interface Arrival {
  secure: TLSSocket;
  worker_id: string;
}

/** An endpoint that is reached, by this worker or through another one. */
export interface Reached {
  socket: Socket;
  /** Of the endpoint, as whoever dialled it sees it. */
  address: string;
  port: number;
}

/** Where other workers come to with the connections that they were asked for. */
export class HopDesk {
  readonly #upstream: Pick<Upstream, 'reach'>;
  readonly #tls: Server;
  #isProved = false;
  /** By ticket, in base64. */
  readonly #expected = new Map<string, (arrival: Arrival) => void>();

  /** @param shaken called with each connection on which the handshake is done */
  constructor(upstream: Pick<Upstream, 'reach'>, shaken: (secure: TLSSocket) => void) {
    this.#upstream = upstream;
    this.#tls = createServer({
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: 'TLSv1.3',
      ALPNProtocols: [HOP_PROTOCOL],
      handshakeTimeout: PATIENCE_MS,
      noDelay: true,
    });
    this.#tls.on('secureConnection', (secure) => {
      shaken(secure);
      this.#admit(secure);
    });
    this.#tls.on('tlsClientError', (_error, secure) => secure.destroy());
  }

  /** From now on proves itself by these. */
  prove(credentials: WorkerCredentials): void {
    this.#tls.setSecureContext(tlsOf(credentials));
    this.#isProved = true;
  }

  /** Takes a connection whose first message asks for {@link HOP_PROTOCOL}. */
  accept(socket: Socket): void {
    if (this.#isProved) this.#tls.emit('connection', socket);
    else socket.destroy();
  }

  /** Reaches the endpoint of a connection: itself, or through a worker that may. @throws Error */
  async dial(
    { endpoint, dials }: Pick<SessionGrant, 'endpoint' | 'dials'>,
    connection_id: string,
  ): Promise<Reached> {
    if (!dials) return this.reach(connection_id);
    const socket = await dial(endpoint);
    return { socket, address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 };
  }

  /**
   * Has the server send another worker to the endpoint of a connection, and waits until that has come here.
   *
   * @throws Failure as the server answers, Error when nobody comes
   */
  async reach(connection_id: string): Promise<Reached> {
    const ticket = randomBytes(TICKET_BYTES).toString('base64');
    const { promise, resolve, reject } = Promise.withResolvers<Arrival>();
    // Whoever comes although the server has said that nobody does is sent away.
    const arrived = promise.catch(() => undefined);
    const timer = setTimeout(() => reject(new Error('nobody has come')), TICKET_MS);
    this.#expected.set(ticket, resolve);
    try {
      const answer = await this.#upstream.reach({ connection_id, ticket });
      const { secure, worker_id } = await promise;
      if (worker_id !== answer.worker_id || secure.destroyed) {
        throw new Error('another worker has come, or it has left');
      }
      const { endpoint_tcp_address: address, endpoint_tcp_port: port } = answer;
      return { socket: secure, address, port };
    } catch (error) {
      reject(error);
      void arrived.then((arrival) => arrival?.secure.destroy());
      throw error;
    } finally {
      clearTimeout(timer);
      this.#expected.delete(ticket);
    }
  }

  #admit(secure: TLSSocket): void {
    secure.on('error', () => secure.destroy());
    const worker_id = workerOf(secure.getPeerX509Certificate()?.subjectAltName);
    if (worker_id === undefined || secure.alpnProtocol !== HOP_PROTOCOL) {
      secure.destroy();
      return;
    }
    const timer = setTimeout(() => secure.destroy(), PATIENCE_MS);
    secure.once('close', () => clearTimeout(timer));
    const read = (): void => {
      const bytes: unknown = secure.read(TICKET_BYTES);
      if (!Buffer.isBuffer(bytes)) return;
      secure.off('readable', read);
      clearTimeout(timer);
      // It ended before it had said all of it.
      const ticket = bytes.length === TICKET_BYTES ? bytes.toString('base64') : '';
      const meet = this.#expected.get(ticket);
      this.#expected.delete(ticket);
      if (meet) meet({ secure, worker_id });
      else secure.destroy();
    };
    secure.on('readable', read);
  }
}
