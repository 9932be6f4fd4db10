import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { SessionGrant, Upstream } from '../upstream.ts';
import { HOP_PROTOCOL } from '../wire/hop.ts';
import { dial } from './endpoint.ts';
import { Tickets } from './tickets.ts';
import { tlsOf, type WorkerCredentials } from './worker-credentials.ts';

/** A worker that has begun to come has so long for its handshake. */
const PATIENCE_MS = 10_000;

/** An endpoint that is reached, by this worker or through another one. */
interface Reached {
  socket: Socket;
  /** Of the endpoint, as whoever dialled it sees it. */
  address: string;
  port: number;
  /** Of the worker that has brought it; absent: this one has dialled it. */
  worker_id?: string;
}

/** Where other workers come to with the connections that they were asked for. */
export class HopDesk {
  readonly #upstream: Pick<Upstream, 'reach'>;
  readonly #tls: Server;
  readonly #tickets = new Tickets();
  #isProved = false;

  /**
   * @param shaken called with each connection on which the handshake is done
   * @param awaited called with each that has shown a ticket that is good
   */
  constructor(
    upstream: Pick<Upstream, 'reach'>,
    shaken: (secure: TLSSocket) => void,
    awaited: (secure: TLSSocket) => void,
  ) {
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
      this.#tickets.admit(secure, () => awaited(secure));
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
    const met = await this.#tickets.meet((ticket) =>
      this.#upstream.reach({ connection_id, ticket }),
    );
    const { secure, worker_id, endpoint_tcp_address: address, endpoint_tcp_port: port } = met;
    return { socket: secure, address, port, worker_id };
  }
}
