import type { Logger } from 'pino';
import type { Barrier } from '../barrier/barrier.ts';
import type { Config } from '../config/config.ts';
import type { Whose } from '../core/fairness/piece.ts';
import type { ConfigCache } from '../store/config-cache.ts';
import type { Db } from '../store/database.ts';
import type { Store } from '../store/store.ts';
import type { Effect } from '../store/write.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { Caller } from './caller.ts';
import type { Ended, EndingPages } from './ended.ts';
import type { Asked, Lease, LeaseEnd } from './lease.ts';

/**
 * What operations may reach, built once at start (`start/server.ts`) and handed to each of them.
 * Everything that is neither a value nor a pure function comes from here, so a test can
 * give an operation another clock, another chance or another database.
 */
export interface App extends ConfigCache {
  readonly config: Config;
  readonly store: Store;
  /** Reads only; every write is a value given to {@link App.commit}. */
  readonly db: Db;
  readonly barrier: Barrier;
  readonly audit: AuditTrail;
  readonly log: Logger;
  /** How leases of each kind are ended; the engines that give them out say so. */
  readonly leaseKinds: LeaseKinds;
  /** What ends with tokens and persons besides what is theirs; the broker says so. */
  readonly planDependants: PlanDependants;
  /** Ends most of that before, where it is much. */
  readonly endDependants: EndDependants;
  /** Milliseconds since 1970. */
  now(): number;
  randomBytes(length: number): Uint8Array;
  /** A random identifier in the form of RFC 9562, version 4. */
  newId(): string;
  /**
   * Makes one write set durable, all or nothing, with the audit record of the caller's
   * request in it. Resolves when nothing can undo it.
   *
   * @throws Failure `conflict` when a guard or a unique key refuses it: nothing was written then;
   *   `unavailable` when the database cannot take it, or was lost before it said whether it has
   */
  commit(caller: Caller, effects: readonly Effect[]): Promise<void>;
  /**
   * As {@link App.commit}, for a write set that was planned by what the caller may do, or is: when
   * that was changed meanwhile and the caller may go on, it is a `conflict`, to be planned anew.
   */
  commitOnce(caller: Caller, effects: readonly Effect[]): Promise<void>;
  /** Registers work to be done, in reverse order of registration, when the server stops. */
  onClose(close: () => Promise<void> | void): void;
}

/**
 * State that belongs to one running server and one feature: a key pool, a thread, a cache.
 * Made at first use, one for each `App`, so that two servers in one test never share it.
 */
export function perApp<T>(make: (app: App) => T): (app: App) => T {
  const made = new WeakMap<App, T>();
  return (app) => {
    const known = made.get(app);
    if (known !== undefined) return known;
    const fresh = make(app);
    made.set(app, fresh);
    return fresh;
  };
}

/**
 * As {@link PlanDependants}, before that: ends page by page what ends with something, until a write set
 * that ends the rest is short. Others write in between.
 */
export type EndDependants = (app: App, work: EndingPages, ended: Ended) => Promise<void>;

/**
 * Plans what ends with something. In the write set it follows the statement that takes the rows of
 * what ends, which waits for whatever is being made by them; their rows are to be there yet.
 */
export type PlanDependants = (app: App, ended: Ended) => Promise<Effect[]>;

/** What is to be done at the end of leases of one kind. */
export interface LeaseKind {
  /**
   * Works out how to end what a lease stands for. No effects when there is nothing left to
   * end. Called again after a conflict.
   *
   * @param asked where it is shared out who is asked
   */
  planEnd(app: App, lease: Lease, asked?: Asked): Promise<LeaseEnd>;
  /**
   * Of kinds that ask somebody else. Made for one run of a job: tells for a lease who is asked, and for whom;
   * undefined where nobody needs to be.
   */
  tellWhose?(app: App): (lease: Lease) => Promise<Whose | undefined>;
}

/** Every kind of lease by its name. */
export type LeaseKinds = Readonly<Record<string, LeaseKind>>;
