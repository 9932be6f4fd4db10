import { randomBytes } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import { HOP_PROTOCOL, TICKET_BYTES, TICKET_MS, workerOf } from '../wire/hop.ts';

/** A worker that has come has so long for its ticket. */
const PATIENCE_MS = 10_000;

/** Whoever has come with a ticket. */
interface Arrival {
  secure: TLSSocket;
  worker_id: string;
}

/** What a worker that was sent has to show: each is good once, for whom it was meant. */
export class Tickets {
  /** By ticket, in base64. */
  readonly #expected = new Map<string, (arrival: Arrival) => void>();

  /**
   * Waits for the worker that is sent with a ticket.
   *
   * @param send has somebody come, and tells who that will be
   * @throws whatever `send` does, Error when nobody or somebody else comes
   */
  async meet<Sent extends { worker_id: string }>(
    send: (ticket: string) => Promise<Sent>,
  ): Promise<Sent & { secure: TLSSocket }> {
    const ticket = randomBytes(TICKET_BYTES).toString('base64');
    const { promise, resolve, reject } = Promise.withResolvers<Arrival>();
    // Whoever comes although it is said that nobody does is sent away.
    const arrived = promise.catch(() => undefined);
    const timer = setTimeout(() => {
      // Nobody would take whoever comes while it is still being sent.
      this.#expected.delete(ticket);
      reject(new Error('nobody has come'));
    }, TICKET_MS);
    this.#expected.set(ticket, resolve);
    try {
      const sent = await send(ticket);
      const { secure, worker_id } = await promise;
      if (worker_id !== sent.worker_id || secure.destroyed) {
        throw new Error('another worker has come, or it has left');
      }
      return { ...sent, secure };
    } catch (error) {
      reject(error);
      void arrived.then((arrival) => arrival?.secure.destroy());
      throw error;
    } finally {
      clearTimeout(timer);
      this.#expected.delete(ticket);
    }
  }

  /**
   * Takes a connection whose other end has proved itself, and reads its ticket.
   *
   * @param awaited called when it has shown one that is good
   */
  admit(secure: TLSSocket, awaited: () => void = () => {}): void {
    secure.on('error', () => secure.destroy());
    const shown = secure.authorized ? secure.getPeerX509Certificate() : undefined;
    const worker_id = workerOf(shown?.subjectAltName);
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
      if (!meet) {
        secure.destroy();
        return;
      }
      awaited();
      meet({ secure, worker_id });
    };
    secure.on('readable', read);
  }
}
