import type { SessionAuthorization } from '../../broker/sessions/authorization-token.ts';
import {
  cancelSession,
  openConnection,
  type ReachedSession,
  type SessionConnection,
  SessionRefused,
} from './session-stream.ts';

/**
 * Opens connections of one session as one client: with one token, and by the first of its workers
 * that can be reached.
 */
export class SessionDialer {
  readonly #session: ReachedSession;
  readonly #addresses: readonly string[];
  readonly #tofu_token: string;
  /** Which of the addresses is asked. */
  #at = 0;

  /** @param tofu_token 20 letters and digits that no other client has */
  constructor(
    session: ReachedSession & Pick<SessionAuthorization, 'worker_addresses'>,
    tofu_token: string,
  ) {
    this.#session = session;
    this.#addresses = session.worker_addresses;
    this.#tofu_token = tofu_token;
  }

  /** @throws SessionRefused */
  dial(): Promise<SessionConnection> {
    return this.#attempt((address) => openConnection(this.#session, address, this.#tofu_token));
  }

  /** Ends the session. @throws SessionRefused */
  cancel(): Promise<void> {
    return this.#attempt((address) => cancelSession(this.#session, address, this.#tofu_token));
  }

  /** One worker after the other, once around, while none of them is there. */
  async #attempt<Result>(ask: (address: string) => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      const at = this.#at;
      try {
        return await ask(this.#addresses[at] ?? '');
      } catch (error) {
        const isAway = error instanceof SessionRefused && error.refusal.kind === 'unreachable';
        if (!isAway || attempt >= this.#addresses.length) throw error;
        // Another connection may have gone on already.
        if (this.#at === at) this.#at = (at + 1) % this.#addresses.length;
      }
    }
  }
}
