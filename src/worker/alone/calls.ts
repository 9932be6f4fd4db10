import { portable } from '../link/messages.ts';
import type { Call, SessionGrant, Upstream } from '../upstream.ts';
import { type ServerLink, unreachable } from './link.client.ts';

/** A break in the connection to the server is waited for this long. */
const PATIENCE_MS = 5_000;

/** What a worker asks, by the connection to a server that there is at the moment. */
export class ServerCalls {
  #link: ServerLink | undefined;
  #joined = Promise.withResolvers<void>();

  /** From now on asks by this connection. */
  join(link: ServerLink): void {
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
    logIn: (request) => this.#ask({ name: 'logIn', request }),
    record: (request) => this.#ask({ name: 'record', request: portable(request) as never }),
    // It is told again where nobody has heard it.
    close: async (request) => {
      if (!this.#link) throw unreachable();
      return (await this.#link.ask({ name: 'close', request })) as never;
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
    if (!this.#link) throw unreachable();
    return (await this.#link.ask(call)) as never;
  }
}

/** Bytes are base64 on the way. */
type Portable<Value> = {
  [Name in keyof Value]: Value[Name] extends Uint8Array ? string : Value[Name];
};
