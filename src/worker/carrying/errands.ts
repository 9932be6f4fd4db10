import type { Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { parseAddress } from '../../config/kinds.ts';
import { lookupWithin, refuseAddress } from '../../config/reach.client.ts';
import type { ReachRules } from '../../config/reach-rules.ts';
import { Failure } from '../../core/failure.ts';
import { KEEP_ALIVE_MS } from '../../sockets/keep-alive.ts';
import { MOST_CARRIED } from '../upstream.ts';
import { type Brought, type Errand, HOP_PROTOCOL, workerOf } from '../wire/hop.ts';
import { breakOff, dial, parseEndpoint } from './endpoint.ts';
import { tlsOf, type WorkerCredentials } from './worker-credentials.ts';

/** A worker that does not answer is given up after this, and so is an endpoint. */
const PATIENCE_MS = 10_000;
/** What one side has not taken so long after the other has gone is dropped. */
const LINGER_MS = 60_000;

/** What this worker does for others: it dials what they cannot, and brings it to them. */
export class Errands {
  /** What it has brought: both ends of each. */
  readonly #brought = new Set<{ errand: Errand; sockets: readonly Socket[] }>();
  readonly #most: number;
  #credentials: WorkerCredentials | undefined;

  /** @param most at any time */
  constructor(most = MOST_CARRIED) {
    this.#most = most;
  }

  /** From now on proves itself by these. */
  prove(credentials: WorkerCredentials): void {
    this.#credentials = credentials;
  }

  /**
   * Dials an endpoint and brings the connection to the worker that wants it; bytes flow from then on.
   *
   * @throws Failure `unresolved` when either cannot be reached
   */
  async run(errand: Errand): Promise<Brought> {
    const { endpoint, address, worker_id, ticket, reach } = errand;
    const credentials = this.#credentials;
    if (!credentials) throw new Failure('unresolved', 'the worker is not enrolled yet');
    if (this.#brought.size >= this.#most) throw new Failure('unresolved', 'the worker has no room');
    const reached = await dialWithin(endpoint, reach).catch((cause: unknown) => {
      throw new Failure('unresolved', 'the endpoint cannot be reached', { cause });
    });
    // Before anything is waited for: an error that nobody hears ends the process.
    reached.on('error', () => reached.destroy());
    const hop = await connectTo(address, worker_id, credentials).catch((cause: unknown) => {
      reached.destroy();
      throw new Failure('unresolved', 'the other worker cannot be reached', { cause });
    });
    // Its end would not be seen any more.
    if (reached.destroyed) {
      hop.destroy();
      throw new Failure('unresolved', 'the endpoint has closed the connection');
    }
    hop.write(Buffer.from(ticket, 'base64'));
    this.#relay(errand, reached, hop);
    return {
      endpoint_tcp_address: reached.remoteAddress ?? '',
      endpoint_tcp_port: reached.remotePort ?? 0,
    };
  }

  /** Ids of the connections that it has brought to other workers, and has not let go of. */
  brought(): string[] {
    return [...this.#brought].flatMap(({ errand }) => errand.connection_id ?? []);
  }

  /** Ends all that it has brought to others. */
  cutAll(): void {
    this.#cutWhere(() => true);
  }

  /** Ends what it has brought of some sessions, and some connections besides, also where the worker that has them does not. */
  cut(over: { session_ids: Has; connection_ids: Has }): void {
    this.#cutWhere(
      ({ session_id = '', connection_id = '' }) =>
        over.session_ids.has(session_id) || over.connection_ids.has(connection_id),
    );
  }

  #cutWhere(isOver: (errand: Errand) => boolean): void {
    for (const { errand, sockets } of this.#brought) {
      if (isOver(errand)) for (const socket of sockets) breakOff(socket);
    }
  }

  #relay(errand: Errand, endpoint: Socket, hop: Socket): void {
    const brought = { errand, sockets: [endpoint, hop] };
    this.#brought.add(brought);
    endpoint.pipe(hop);
    hop.pipe(endpoint);
    for (const [one, other] of [
      [endpoint, hop],
      [hop, endpoint],
    ] as const) {
      one.once('close', () => {
        if (other.closed) this.#brought.delete(brought);
        // One that has ended in order is given time for what is on its way to the other.
        if (!one.readableEnded) breakOff(other);
        else setTimeout(() => other.destroy(), LINGER_MS).unref();
      });
    }
  }
}

/** What tells whether something is in it. */
interface Has {
  has(id: string): boolean;
}

const refuse = (_kind: string, because: string): Error => new Error(because);

async function dialWithin(endpoint: string, reach: ReachRules | undefined): Promise<Socket> {
  if (!reach) return withinPatience(dial(endpoint));
  const within = { reach, listening: [] };
  // An address is not looked up.
  refuseAddress(within, parseEndpoint(endpoint).host, refuse);
  return withinPatience(dial(endpoint, lookupWithin(within, refuse)));
}

/** The socket of a worker that has proved to be the one that is meant. @throws Error, also for an address that is none */
async function connectTo(
  address: string,
  worker_id: string,
  credentials: WorkerCredentials,
): Promise<TLSSocket> {
  const { host, port } = parseAddress('address', address);
  const secure = connect({
    ...tlsOf(credentials),
    host,
    port,
    servername: worker_id,
    ALPNProtocols: [HOP_PROTOCOL],
    // Names of workers are ids, in which letter case counts.
    checkServerIdentity: () => undefined,
  });
  secure.setNoDelay(true);
  secure.setKeepAlive(true, KEEP_ALIVE_MS);
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => secure.destroy(new Error('no answer')), PATIENCE_MS);
    secure.once('close', () => {
      clearTimeout(timer);
      reject(new Error('the connection was closed'));
    });
    secure.on('error', (error) => {
      reject(error);
      secure.destroy();
    });
    secure.once('secureConnect', () => {
      clearTimeout(timer);
      const shown = workerOf(secure.getPeerX509Certificate()?.subjectAltName);
      const isMeant = shown === worker_id && secure.alpnProtocol === HOP_PROTOCOL;
      if (isMeant) resolve(secure);
      else secure.destroy(new Error('another one is there'));
    });
  });
}

async function withinPatience(dialling: Promise<Socket>): Promise<Socket> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('it does not answer')), PATIENCE_MS);
  });
  try {
    return await Promise.race([dialling, late]);
  } catch (error) {
    void dialling.then((socket) => socket.destroy()).catch(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
