import { Failure } from '../../core/failure.ts';
import type { Call, ConnectionEnd, SessionGrant, Upstream } from '../upstream.ts';
import type { ServerLink } from './link.client.ts';

/** A break in the connection to the server is waited for this long. */
const PATIENCE_MS = 5_000;
/** How many ends are told at once, and kept while there is nobody to tell. */
const ENDS = { at_once: 500, kept: 20_000 };

/**
 * What a worker asks, by the connection to a server that there is at the moment. How connections
 * ended meanwhile is told as soon as there is one again.
 */
export class ServerCalls {
  #link: ServerLink | undefined;
  #joined = Promise.withResolvers<void>();
  #untold: ConnectionEnd[] = [];

  /** From now on asks by this connection. Throws nothing; one that breaks meanwhile is none. */
  async join(link: ServerLink): Promise<void> {
    try {
      while (this.#untold.length > 0) {
        const ends = this.#untold.slice(0, ENDS.at_once);
        await link.ask({ name: 'close', request: { ends } });
        this.#untold.splice(0, ends.length);
      }
    } catch {
      return;
    }
    if (!link.isOpen) return;
    this.#link = link;
    this.#joined.resolve();
  }

  leave(link: ServerLink): void {
    if (this.#link !== link) return;
    this.#link = undefined;
    this.#joined = Promise.withResolvers();
  }

  readonly upstream: Upstream = {
    lookUp: async (request) => {
      const grant: Portable<SessionGrant> = await this.#ask({ name: 'lookUp', request });
      const certificate = Buffer.from(grant.certificate, 'base64');
      return { ...grant, certificate, private_key: Buffer.from(grant.private_key, 'base64') };
    },
    activate: (request) => this.#ask({ name: 'activate', request }),
    cancel: (request) => this.#ask({ name: 'cancel', request }),
    authorize: (request) => this.#ask({ name: 'authorize', request }),
    reach: (request) => this.#ask({ name: 'reach', request }),
    connect: (request) => this.#ask({ name: 'connect', request }),
    close: async (request) => {
      const { ends } = request;
      try {
        if (this.#link) return (await this.#link.ask({ name: 'close', request })) as never;
      } catch (error) {
        if (!(error instanceof Failure) || error.kind !== 'unavailable') throw error;
      }
      if (this.#untold.length + ends.length <= ENDS.kept) this.#untold.push(...ends);
      return { closed: 0 };
    },
  };

  async #ask(call: Call): Promise<never> {
    if (!this.#link) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, PATIENCE_MS);
      });
      await Promise.race([this.#joined.promise, late]);
      clearTimeout(timer);
    }
    if (!this.#link) throw new Failure('unavailable', 'the server cannot be reached');
    return (await this.#link.ask(call)) as never;
  }
}

/** Bytes are base64 on the way. */
type Portable<Value> = {
  [Name in keyof Value]: Value[Name] extends Uint8Array ? string : Value[Name];
};
