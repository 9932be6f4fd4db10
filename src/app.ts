import type { Logger } from 'pino';
import type { Caller } from './access/caller.ts';
import type { EndDependants, PlanDependants } from './access/ended.ts';
import type { LeaseKinds } from './access/leases/lease.ts';
import type { AuditTrail } from './audit/trail.ts';
import type { Config } from './config.ts';
import type { Barrier } from './seal/barrier.ts';
import type { MountSubject, Subject } from './store/config-subject.ts';
import type { Db } from './store/database.ts';
import type { Store } from './store/store.ts';
import type { Effect } from './store/write.ts';

/**
 * What operations may reach, built once at start (`start.ts`) and handed to each of them.
 * Everything that is neither a value nor a pure function comes from here, so a test can
 * give an operation another clock, another chance or another database.
 */
export interface App {
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
  /**
   * Configuration that the hot path needs, loaded once and forgotten when any node changes
   * configuration (`config_version`). Never for anything that must be exact at each request.
   *
   * @param subjects all that is read: given them, only a change of one of them has it loaded anew
   */
  cached<T>(key: string, load: () => Promise<T>, subjects?: readonly Subject[]): Promise<T>;
  /**
   * The number that grows with each change of what a mount is configured with, for what is kept by it;
   * undefined for a mount that is not there. It is asked for before anything else is read of it.
   */
  versionOf(subject: MountSubject): Promise<number | undefined>;
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
