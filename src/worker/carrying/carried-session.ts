import { timingSafeEqual } from 'node:crypto';
import type { Server, TLSSocket } from 'node:tls';
import { TOFU_LENGTH } from '../../broker/sessions/connections/connection.ts';
import type { SessionGrant, Upstream } from '../upstream.ts';
import { sessionServer } from './session-server.ts';

/** What a worker was told of a session is asked for anew after so long, when somebody comes. */
export const FRESH_MS = 10_000;

/** Whether a client may go on; `pending` sessions become active by it. */
export type Admission = 'admitted' | 'other client' | 'not pending';

/** A session that this worker carries, as it was last told of it. */
export class CarriedSession {
  readonly id: string;
  readonly tls: Server;
  /** When the server was last asked, by a clock that only goes on. */
  looked_up: number;
  /** When its time is over, by the same. */
  #until: number;
  #grant: SessionGrant;
  readonly #upstream: Upstream;
  #tofu: Buffer | undefined;
  #activation: Promise<void> | undefined;

  constructor(
    grant: SessionGrant,
    upstream: Upstream,
    admit: (secure: TLSSocket, session: CarriedSession) => void,
  ) {
    this.id = grant.session_id;
    this.looked_up = performance.now();
    this.#until = this.looked_up + grant.left_ms;
    this.#grant = grant;
    this.#upstream = upstream;
    this.tls = sessionServer(grant, (secure) => admit(secure, this));
    this.#noteTofu(grant.tofu_token);
  }

  get facts(): Pick<
    SessionGrant,
    'endpoint' | 'dials' | 'expires_ms' | 'connection_limit' | 'injects' | 'recording_id'
  > {
    return this.#grant;
  }

  get hasRunOut(): boolean {
    return performance.now() >= this.#until;
  }

  /** It has ended, and is known for as long as it would be without its client. */
  outlive(): void {
    this.looked_up = performance.now();
  }

  /** Takes what the server says of it now. */
  refresh(grant: SessionGrant): void {
    this.#grant = grant;
    this.looked_up = performance.now();
    this.#until = this.looked_up + grant.left_ms;
    this.#noteTofu(grant.tofu_token);
  }

  /**
   * Judges the token of a client. The first one of a session that is pending activates it; others
   * that come meanwhile wait for that, and are judged by it.
   *
   * @throws Failure as the server refuses the activation
   */
  async admit(tofu_token: string): Promise<Admission> {
    const token = Buffer.from(tofu_token, 'utf8');
    if (!this.#tofu) {
      if (this.#grant.status !== 'pending') return 'not pending';
      this.#activation ??= this.#activate(tofu_token, token);
      const activation = this.#activation;
      try {
        await activation;
      } finally {
        if (this.#activation === activation) this.#activation = undefined;
      }
    }
    const known = this.#tofu;
    if (!known) return 'not pending';
    return isSame(known, token) ? 'admitted' : 'other client';
  }

  async #activate(tofu_token: string, token: Buffer): Promise<void> {
    const { session_id, version } = this.#grant;
    const { status } = await this.#upstream.activate({ session_id, tofu_token, version });
    this.#grant = { ...this.#grant, status };
    this.#tofu = token;
  }

  #noteTofu(token: string): void {
    if (token.length === TOFU_LENGTH) this.#tofu = Buffer.from(token, 'utf8');
  }
}

const isSame = (one: Buffer, other: Buffer): boolean =>
  one.length === other.length && timingSafeEqual(one, other);
