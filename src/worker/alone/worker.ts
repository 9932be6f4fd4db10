import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { formatAddress } from '../../broker/workers/worker.ts';
import { Failure } from '../../core/failure.ts';
import { VERSION } from '../../core/version.ts';
import { Carrier } from '../carrying/carrier.ts';
import { GRACE_MS } from '../grace.ts';
import { REPORT_MS } from '../link/messages.ts';
import type { Errand } from '../wire/hop.ts';
import { ServerCalls } from './calls.ts';
import { enrolAt, type FirstToken } from './enrolling.client.ts';
import { type Identity, newKey } from './identity.ts';
import { ServerLink } from './link.client.ts';
import type { WorkerSettings } from './settings.ts';

/** Between two attempts to reach a server; longer each time, but several within the grace. */
const WAITS_MS = { first: 250, most: 1_000 };
/** How often it is looked at whether something is due. */
const TICK_MS = 1_000;
/** A server that has not let the worker in, or taken a report in, for so long is not there: another one is tried. */
const SILENCE_MS = 8_000;
/** A worker that has shown its own token asks this often whether it is expected by now. */
const EXPECTED_MS = 3_000;

/** A renewal is asked for again after this at the earliest, whatever the clock says. */
const RENEWAL_MS = 3_600_000;

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
  readonly #calls = new ServerCalls();
  readonly #stopping = new AbortController();
  /** The connection that there is, … */
  #held: ServerLink | undefined;
  /** … once the server has said by it that the worker is let in. */
  #link: ServerLink | undefined;
  #address: ServerAddress | undefined;
  /** When the last report was sent that a server took in, by a clock that only goes on. */
  #heard = performance.now();
  #reported = 0;
  /** When the connection to the server began, or the worker was let in by it. */
  #began = 0;
  #grace_ms = GRACE_MS;
  /** The key that a renewed certificate is asked for. */
  #nextKey: string | undefined;
  /** When that was last asked. */
  #asked = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(identity: Identity, options: WorkerOptions) {
    this.#identity = identity;
    this.#options = options;
    this.#carrier = new Carrier(this.#calls.upstream);
  }

  /**
   * Takes connections, if its configuration says where.
   *
   * @throws Error with a `code` when the address cannot be had
   */
  async listen(): Promise<ServerAddress | undefined> {
    const { listener } = this.#options.settings;
    if (listener) this.#address = await this.#carrier.listen(listener.address.at);
    return this.#address;
  }

  /**
   * Enrols if that is needed, then holds its connection to a server until it is stopped.
   *
   * @throws Failure `forbidden` or `invalid` for what only its operator can mend
   */
  async run(): Promise<void> {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    let wait_ms = WAITS_MS.first;
    for (let at = 0; !this.#stopping.signal.aborted; at += 1) {
      const { servers } = this.#options;
      const server = servers[at % servers.length];
      if (!server) return;
      try {
        if (!this.#identity.credentials) await this.#enrol(server);
        const began = performance.now();
        await this.#hold(server);
        // One that lets it in and away again at once is not asked without end.
        if (performance.now() - began > SILENCE_MS) wait_ms = WAITS_MS.first;
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
    this.#carrier.prove(credentials);
    const link = await ServerLink.open(server, credentials, {
      welcome: ({ grace_ms }) => {
        this.#grace_ms = grace_ms;
        this.#begin(link);
        log.info({ server: formatAddress(server) }, 'the worker is at work');
      },
      cut: ({ cuts, connection_ids }) => this.#carrier.cut(cuts, connection_ids),
      renewed: ({ certificate, roots }) => this.#keepRenewed({ certificate, roots }),
      bring: ({ id, errand }) => {
        const address = errand.address || formatAddress(server);
        void this.#bring(link, id, { ...errand, address });
      },
      heard: ({ report_id }) => {
        this.#heard = Math.max(this.#heard, report_id);
        // Nothing new before: what a worker carries that is still taken to be silent is closed.
        this.#calls.join(link);
      },
    });
    this.#held = link;
    this.#began = performance.now();
    link.say(this.#introduction());
    const why = await link.ended.finally(() => {
      this.#calls.leave(link);
      this.#held = undefined;
      this.#link = undefined;
    });
    if (!this.#stopping.signal.aborted) log.warn({ why }, 'the connection to the server is over');
  }

  #begin(link: ServerLink): void {
    this.#link = link;
    this.#began = performance.now();
    this.#report('active');
    // What was asked by another connection is not answered by this one.
    this.#nextKey = undefined;
    this.#renewIfDue();
  }

  /** Has the carrier reach an endpoint for another worker, and says what came of it. */
  async #bring(link: ServerLink, id: number, errand: Errand): Promise<void> {
    try {
      link.say({ type: 'brought', id, ...(await this.#carrier.bring(errand)) });
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      link.say({ type: 'not brought', id, why: error.message });
    }
  }

  #introduction() {
    const { name = '', description = '', listener, tags } = this.#options.settings;
    return {
      type: 'hello' as const,
      name,
      description,
      address: listener?.public_address ?? (this.#address ? formatAddress(this.#address) : ''),
      release_version: `Gatehouse v${VERSION}`,
      tags: Object.fromEntries(Object.entries(tags).map(([key, values]) => [key, [...values]])),
    };
  }

  #tick(): void {
    const now = performance.now();
    // The server takes all of it to be over by now.
    if (now - this.#heard > this.#grace_ms) this.#carrier.cutAll('system error');
    if (!this.#held) return;
    if (now - Math.max(this.#heard, this.#began) > SILENCE_MS) {
      this.#held.drop();
    } else if (this.#link && now - this.#reported >= REPORT_MS) {
      this.#report('active');
      this.#renewIfDue();
    }
  }

  #report(state: 'active' | 'shutdown'): void {
    if (!this.#link) return;
    this.#reported = performance.now();
    const report_id = Math.floor(this.#reported);
    this.#link.say({ type: 'report', report_id, state, ...this.#carrier.carried() });
  }

  #renewIfDue(): void {
    const { half_ms } = this.#identity;
    if (half_ms === undefined || Date.now() < half_ms) return;
    const now = performance.now();
    if (now - this.#asked < RENEWAL_MS) return;
    this.#asked = now;
    const { pem, public_key } = newKey();
    this.#nextKey = pem;
    this.#link?.say({ type: 'renew', public_key: public_key.toString('base64') });
  }

  /** It comes again with the new key, and the server forgets the old one then. */
  #keepRenewed(renewed: { certificate: string; roots: readonly string[] }): void {
    const { worker_id } = this.#identity;
    const key = this.#nextKey;
    if (key === undefined || worker_id === undefined) return;
    this.#nextKey = undefined;
    try {
      this.#identity.keep({ worker_id, ...renewed }, key);
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      // The one that it has is good for as long again: nothing that is carried has to end for it.
      this.#options.log.error({ why: error.message }, 'a new certificate cannot be kept');
      return;
    }
    this.#options.log.info('the worker’s certificate is renewed');
    this.#link?.close();
  }

  async #pause(milliseconds: number): Promise<void> {
    await wait(milliseconds, undefined, { signal: this.#stopping.signal }).catch(() => {});
  }
}
