import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { formatAddress } from '../../broker/workers/worker.ts';
import { Failure } from '../../core/failure.ts';
import { VERSION } from '../../core/version.ts';
import { Carrier } from '../carrying/carrier.ts';
import { GRACE_MS } from '../grace.ts';
import { REPORT_MS } from '../link/messages.ts';
import { enrolAt, type FirstToken } from './enrolling.client.ts';
import { type Identity, newKey } from './identity.ts';
import { ServerLink, upstreamThrough } from './link.client.ts';
import type { WorkerSettings } from './settings.ts';

/** Between two attempts to reach a server; longer each time, up to this. */
const WAITS_MS = { first: 500, most: 10_000 };
/** A worker that has shown its own token asks this often whether it is expected by now. */
const EXPECTED_MS = 3_000;

interface ServerAddress {
  host: string;
  port: number;
}

interface WorkerOptions {
  settings: WorkerSettings;
  servers: readonly ServerAddress[];
  token: FirstToken;
  log: Logger;
  /** Called with the worker's own token when it has to be told to a server. */
  showToken(): void;
}

/** A worker that stands alone: carries sessions for servers that it holds one connection to. */
export class StandingWorker {
  readonly #options: WorkerOptions;
  readonly #identity: Identity;
  readonly #carrier: Carrier;
  readonly #stopping = new AbortController();
  #link: ServerLink | undefined;
  #address: ServerAddress | undefined;
  /** When the server was heard of last, by a clock that only goes on. */
  #heard = performance.now();
  #grace_ms = GRACE_MS;
  /** The key that a renewed certificate is asked for. */
  #nextKey: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(identity: Identity, options: WorkerOptions) {
    this.#identity = identity;
    this.#options = options;
    this.#carrier = new Carrier(upstreamThrough(() => this.#link));
  }

  /** Where it listens. @throws Error with a `code` when the address cannot be had */
  async listen(): Promise<ServerAddress> {
    this.#address = await this.#carrier.listen(this.#options.settings.listener.address.at);
    return this.#address;
  }

  /**
   * Enrols if that is needed, then holds its connection to a server until it is stopped.
   *
   * @throws Failure `forbidden` or `invalid` for what only its operator can mend
   */
  async run(): Promise<void> {
    this.#timer = setInterval(() => this.#tick(), REPORT_MS);
    let wait_ms = WAITS_MS.first;
    for (let at = 0; !this.#stopping.signal.aborted; at += 1) {
      const { servers } = this.#options;
      const server = servers[at % servers.length];
      if (!server) return;
      try {
        if (!this.#identity.credentials) await this.#enrol(server);
        const began = performance.now();
        await this.#hold(server);
        if (performance.now() - began > WAITS_MS.most) wait_ms = WAITS_MS.first;
      } catch (error) {
        if (!(error instanceof Failure)) throw error;
        if (error.kind !== 'unavailable') throw error;
        this.#options.log.warn({ why: error.message }, 'the server cannot be reached');
      }
      await this.#pause(wait_ms);
      wait_ms = Math.min(wait_ms * 2, WAITS_MS.most);
    }
  }

  /** Says that it goes, ends what it carries, and lets go of everything. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearInterval(this.#timer);
    this.#report('shutdown');
    await this.#carrier.close();
    this.#link?.close();
  }

  async #enrol(server: ServerAddress): Promise<void> {
    const { token, log, showToken } = this.#options;
    let isShown = false;
    while (!this.#stopping.signal.aborted) {
      try {
        this.#identity.keep(await enrolAt(server, this.#identity, token));
        log.info({ worker_id: this.#identity.worker_id }, 'the worker is enrolled');
        return;
      } catch (error) {
        const isAwaited = 'own' in token && error instanceof Failure && error.kind === 'forbidden';
        if (!isAwaited) throw error;
        if (!isShown) showToken();
        isShown = true;
      }
      await this.#pause(EXPECTED_MS);
    }
  }

  /** One connection to a server, from its beginning to its end. */
  async #hold(server: ServerAddress): Promise<void> {
    const { credentials } = this.#identity;
    const { log } = this.#options;
    if (!credentials || this.#stopping.signal.aborted) return;
    const link = await ServerLink.open(server, credentials, {
      welcome: ({ grace_ms }) => {
        this.#grace_ms = grace_ms;
        this.#link = link;
        this.#report('active');
        this.#renewIfDue();
        log.info({ server: formatAddress(server) }, 'the worker is at work');
      },
      cut: ({ cuts, connection_ids }) => this.#carrier.cut(cuts, connection_ids),
      renewed: ({ certificate, roots }) => this.#keepRenewed({ certificate, roots }),
    });
    link.say(this.#introduction());
    const why = await link.ended;
    if (this.#link === link) this.#link = undefined;
    if (!this.#stopping.signal.aborted) log.warn({ why }, 'the connection to the server is over');
  }

  #introduction() {
    const { name = '', description = '', listener, tags } = this.#options.settings;
    const own = this.#address ?? listener.address.at;
    return {
      type: 'hello' as const,
      name,
      description,
      address: listener.public_address ?? formatAddress(own),
      release_version: `Gatehouse v${VERSION}`,
      tags: Object.fromEntries(Object.entries(tags).map(([key, values]) => [key, [...values]])),
    };
  }

  #tick(): void {
    if (this.#link) {
      this.#report('active');
      this.#renewIfDue();
    } else if (performance.now() - this.#heard > this.#grace_ms) {
      // The server takes all of it to be over by now.
      this.#carrier.cutAll('system error');
    }
  }

  #report(state: 'active' | 'shutdown'): void {
    if (!this.#link) return;
    this.#heard = performance.now();
    this.#link.say({ type: 'report', state, open: this.#carrier.traffic() });
  }

  #renewIfDue(): void {
    const { half_ms } = this.#identity;
    if (this.#nextKey !== undefined || half_ms === undefined || Date.now() < half_ms) return;
    const { pem, public_key } = newKey();
    this.#nextKey = pem;
    this.#link?.say({ type: 'renew', public_key: public_key.toString('base64') });
  }

  /** It comes again with the new key, and the server forgets the old one then. */
  #keepRenewed(renewed: { certificate: string; roots: readonly string[] }): void {
    const { worker_id } = this.#identity;
    if (this.#nextKey === undefined || worker_id === undefined) return;
    this.#identity.keep({ worker_id, ...renewed }, this.#nextKey);
    this.#nextKey = undefined;
    this.#options.log.info('the worker’s certificate is renewed');
    this.#link?.close();
  }

  async #pause(milliseconds: number): Promise<void> {
    await wait(milliseconds, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }
}
