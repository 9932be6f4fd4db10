import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { Failure } from '../../core/failure.ts';
import type { StoreLog } from '../committer.ts';
import { READ_INCARNATION } from '../config-version.ts';
import { monotonicMs, type WriteCounts } from '../write-counts.ts';
import { sessionConfig } from './session.ts';
import { CONFIG_CHANNEL } from './transaction.ts';

/** How often to poll, since a notice may be lost. */
const POLL_MS = 500;

/**
 * A version that was not confirmed for so long is asked for again before anybody is told of
 * it: a change on another node is in force here within a second, however slow polling is.
 */
const STALE_MS = 800;

/** Whether the version has to be asked for again before it is told. By the clock that only goes on: one that is set back makes nothing fresh. */
export const isStale = (counts: WriteCounts): boolean =>
  monotonicMs() - counts.confirmed_ms > STALE_MS;

/** Nobody polls again for so long after a failure. */
const PAUSE_MS = 200;

/** Nothing more is to be written by this process then. */
export const otherDatabase = (): Failure =>
  new Failure(
    'unavailable',
    'the database is another one than before: it was restored, or has lost what was written last; this node ends, to begin anew',
  );

interface Found {
  version: number;
  incarnation: string;
}

/**
 * Follows the configuration's version while other nodes change it. Where the database is another one than before, a
 * restored one, or one that has lost what was acknowledged, nothing that this node knows is true any more: keys,
 * permissions, where its records end.
 */
export class ConfigWatch {
  readonly #url: string;
  readonly #log: StoreLog;
  readonly #listeners = new Set<(version: number) => void>();
  #client: Client | undefined;
  #version = 0;
  #incarnation: string | undefined;
  #death: Failure | undefined;
  readonly #deathListeners: ((death: Failure) => void)[] = [];
  /** Tells the other threads when the version was confirmed. */
  readonly #counts: WriteCounts;
  #failed_ms = Number.NEGATIVE_INFINITY;
  #polling: Promise<void> | undefined;
  #pollOnceMore = false;
  /** Polls that were begun, and the last of them that succeeded. */
  #begun = 0;
  #succeeded = 0;
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  private constructor(url: string, log: StoreLog, counts: WriteCounts) {
    this.#url = url;
    this.#log = log;
    this.#counts = counts;
  }

  static async start(url: string, log: StoreLog, counts: WriteCounts): Promise<ConfigWatch> {
    const watch = new ConfigWatch(url, log, counts);
    await watch.#poll();
    watch.#timer = setInterval(() => watch.#pollAgain(), POLL_MS).unref();
    return watch;
  }

  /** @throws Failure `unavailable` when the database cannot be asked */
  version(): number | Promise<number> {
    return isStale(this.#counts) ? this.#confirm() : this.#version;
  }

  /**
   * Polls again, whatever was known: what was durable before the call is known after it.
   *
   * @throws Failure `unavailable` when the database cannot be asked
   */
  async refresh(): Promise<void> {
    const before = this.#begun;
    for (let attempt = 0; attempt < 3 && this.#succeeded <= before; attempt += 1) {
      this.#pollAgain();
      await this.#polling;
    }
    if (this.#succeeded <= before) {
      throw new Failure('unavailable', 'the configuration cannot be read from the database');
    }
  }

  onChange(listener: (version: number) => void): void {
    this.#listeners.add(listener);
  }

  /** A version that was seen to be committed; an older one than is known changes nothing. */
  note(version: number): void {
    if (version <= this.#version) return;
    this.#version = version;
    for (const listener of this.#listeners) listener(version);
  }

  /** @throws Failure `unavailable` once the database is another one: nothing more is to be written */
  requireAlive(): void {
    if (this.#death) throw this.#death;
  }

  /** Called once, when the database is another one; the process should end. */
  onDeath(listener: (death: Failure) => void): void {
    if (this.#death) listener(this.#death);
    else this.#deathListeners.push(listener);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#polling?.catch(() => {});
    await this.#client?.end();
  }

  async #confirm(): Promise<number> {
    // The poll that is under way may have begun too long ago, or on a connection that was lost.
    for (let attempt = 0; attempt < 2 && isStale(this.#counts); attempt += 1) {
      // The database may be back by the end of the pause: nobody is refused for an earlier poll.
      const pause_ms = this.#failed_ms + PAUSE_MS - performance.now();
      if (pause_ms > 0) await delay(pause_ms);
      this.#pollAgain();
      await this.#polling;
    }
    if (isStale(this.#counts)) {
      throw new Failure('unavailable', 'the configuration cannot be read from the database');
    }
    return this.#version;
  }

  #pollAgain(): void {
    if (this.#closed) return;
    if (this.#polling !== undefined) {
      // The notice may tell of a change that the present poll came too early for.
      this.#pollOnceMore = true;
      return;
    }
    this.#pollOnceMore = false;
    this.#polling = this.#poll()
      .catch((error: Error) => {
        this.#failed_ms = performance.now();
        this.#log.warn({ why: error.message }, 'the configuration version cannot be read');
        this.#drop(this.#client);
      })
      .finally(() => {
        this.#polling = undefined;
        if (this.#pollOnceMore) this.#pollAgain();
      });
  }

  async #poll(): Promise<void> {
    const asked_ms = monotonicMs();
    this.#begun += 1;
    const poll = this.#begun;
    this.#client ??= await this.#connect();
    // What was known before it was asked was durable.
    const known = this.#version;
    const { rows } = await this.#client.query<Found>(READ_INCARNATION);
    const row = rows[0];
    if (row === undefined) throw new Failure('unavailable', 'the configuration is missing');
    this.#requireSame(row, known);
    // First: what other threads find confirmed is told to them already.
    this.note(row.version);
    this.#counts.confirm(asked_ms);
    this.#succeeded = poll;
  }

  #requireSame({ version, incarnation }: Found, known: number): void {
    this.#incarnation ??= incarnation;
    const isSame = incarnation === this.#incarnation && version >= known;
    if (!isSame && !this.#death) {
      this.#death = otherDatabase();
      this.#counts.end();
      for (const listener of this.#deathListeners) listener(this.#death);
    }
    this.requireAlive();
  }

  async #connect(): Promise<Client> {
    const client = new Client({ ...sessionConfig(this.#url, 'watch'), query_timeout: 2_000 });
    client.on('error', () => {
      // A connection that breaks says so more than once; its successor has nothing to do with it.
      if (client === this.#client) {
        this.#drop(client);
        this.#pollAgain();
      }
    });
    client.on('notification', () => this.#pollAgain());
    try {
      await client.connect();
      await client.query(`listen ${CONFIG_CHANNEL}`);
      return client;
    } catch (error) {
      client.end().catch(() => {});
      throw error;
    }
  }

  #drop(client: Client | undefined): void {
    if (client === this.#client) this.#client = undefined;
    client?.end().catch(() => {});
  }
}
