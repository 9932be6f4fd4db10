import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { Asked, Lease } from '../../app/lease.ts';
import { Failure, isConflict } from '../../core/failure.ts';
import { GrowingWaits } from '../../core/growing-waits.ts';
import { isForRoom } from '../../store/waiting-sets.ts';
import type { Effect } from '../../store/write.ts';
import { deleteLease, findLease, hasMount } from './store.ts';

/** Leases ended at the same time: their write sets share transactions. */
export const AT_ONCE = 20;

const ATTEMPTS = 3;

/** How leases are ended: who commits, and when to stop. */
export interface EndingWork {
  commit(effects: readonly Effect[], outcome?: Record<string, unknown>): Promise<void>;
  readonly stopping: boolean;
}

/**
 * Ends leases for a request, each with a record of its own. What the caller may do is decided by the
 * first write set of the request; later ones go on with that, perhaps past the end of what it came with.
 */
export function workOf(app: App, caller: Caller): EndingWork {
  return {
    async commit(effects, outcome = {}) {
      const record = { ...caller.record, outcome: { ...caller.record.outcome, ...outcome } };
      const standing = caller.recorded ? undefined : caller.standing;
      await app.commit({ ...caller, record, standing }, effects);
      caller.recorded = true;
    },
    stopping: false,
  };
}

/** How one lease is ended. */
interface HowToEnd {
  /** The lease goes even when what it stands for cannot be ended. */
  force?: boolean;
  /** For whom somebody else is asked, and how, where that is shared out. */
  asked?: Asked;
}

/** Leases that could not be ended: jobs try them, and log that, ever less often. */
export const failedOnes = perApp(() => new GrowingWaits({ longest: 600_000 }));

/** Ends a lease and what it stands for in one write set; one that another has ended is fine. */
export async function endLease(
  app: App,
  work: EndingWork,
  lease: Lease,
  { force = false, asked }: HowToEnd = {},
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      const kind = app.leaseKinds[lease.kind];
      const isThere = await hasMount(app.db, lease);
      if (!kind && !force) throw new Error(`lease ${lease.id} is of an unknown kind`);
      const end =
        isThere &&
        (await kind?.planEnd(app, lease, asked).catch((error: unknown) => {
          if (!force) throw error;
          app.log.warn({ err: error, lease: lease.id }, 'a lease was dropped by force');
          return undefined;
        }));
      const effects = [...(end ? end.effects : []), deleteLease({ id: lease.id })];
      await work.commit(effects, { lease_id: lease.id, ...(end ? end.outcome : {}) });
      failedOnes(app).forget(lease.id);
      if (end) end.after?.();
      return;
    } catch (error) {
      if (!isConflict(error)) throw error;
      // Ended meanwhile, or what it stands for was changed: then it is worked out anew.
      if (!(await findLease(app.db, lease.id))) return;
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

/** The page that follows a lease, from the first one on; empty at the end. */
type NextPage = (last: Lease | undefined) => Promise<Lease[]>;

/**
 * Ends leases page by page. One that cannot be ended holds up none of the others.
 *
 * @returns how many could not be ended; the next run of the job tries them again
 */
export async function endPages(
  app: App,
  work: EndingWork,
  next: NextPage,
  { force = false }: { force?: boolean } = {},
): Promise<number> {
  let failed = 0;
  for (let last: Lease | undefined; !work.stopping; ) {
    const page = await next(last);
    if (page.length === 0) break;
    failed += (await endEach(app, work, page, force)).length;
    last = page.at(-1);
  }
  return failed;
}

/**
 * @returns those that could not be ended
 * @throws Failure `unavailable` where the database has no room for more writes: each of the others would be refused, too
 */
export async function endEach(
  app: App,
  work: EndingWork,
  leases: readonly Lease[],
  force = false,
): Promise<Lease[]> {
  const failed: Lease[] = [];
  for (let start = 0; start < leases.length && !work.stopping; start += AT_ONCE) {
    const part = leases.slice(start, start + AT_ONCE);
    const ends = await Promise.allSettled(part.map((one) => endLease(app, work, one, { force })));
    for (const [at, end] of ends.entries()) {
      const lease = part[at];
      if (end.status === 'fulfilled' || !lease) continue;
      if (isForRoom(end.reason)) throw end.reason;
      failed.push(lease);
      noteFailure(app, lease.id, end.reason);
    }
  }
  return failed;
}

/** @returns whether it is only for now that nobody was asked */
export function noteFailure(app: App, id: string, err: unknown): boolean {
  app.log.error({ err }, 'a lease could not be ended');
  const isForNow = err instanceof Failure && err.detail.retry_after !== undefined;
  if (!isForNow) failedOnes(app).note(id, app.now());
  return isForNow;
}
