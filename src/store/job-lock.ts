import { isConflict } from '../core/failure.ts';
import { type Db, prepared, preparedWrite } from './database.ts';
import type { Store } from './store.ts';
import type { JobLeaseRow } from './tables.ts';
import type { Write } from './write.ts';

// A periodic job runs on one node at a time: whoever holds its row. A holder that stops
// without a word is followed by another when its time is over, by the clocks of the nodes or, where one was set
// wrong, by how long it has said nothing. It may not have noticed; so
// the write sets of a job carry `requireLease`, which refuses those of a former holder
// whatever its clock says.

/** The right to do a job, from `acquireLease`. */
export interface JobLock {
  name: string;
  /** The number of this holding: one more than that of the one before. */
  fence: number;
  expires_at_ms: number;
}

interface JobLockRequest {
  /** The job, e.g. `pki/crl`. */
  name: string;
  /** The node; it takes over from itself at once, as it does after a restart. */
  holder: string;
  now_ms: number;
  /** How long it may be silent; a few times the interval at which it renews. */
  ttl_ms: number;
  /** When another holder's lease is over by the monotonic clock, whatever it says; see {@link LeaseWatch}. */
  void_at_ms?: number | undefined;
}

type LeasePlan =
  | { free: true; lease: JobLock; write: Write }
  | { free: false; holder: string; expires_at_ms: number };

const insertLease = preparedWrite(
  (build, p: { name: string; holder: string; expires_at_ms: number }) =>
    build
      .insertInto('job_lease')
      .values({ name: p.name, holder: p.holder, expires_at_ms: p.expires_at_ms, fence: 1 })
      .onConflict((clash) => clash.column('name').doNothing()),
  { rows: 1 },
);

const takeLease = preparedWrite(
  (build, p: { name: string; holder: string; expires_at_ms: number; fence: number }) =>
    build
      .updateTable('job_lease')
      .set((row) => ({
        holder: p.holder,
        expires_at_ms: p.expires_at_ms,
        fence: row('fence', '+', 1),
      }))
      .where('name', '=', p.name)
      .where('fence', '=', p.fence),
  { rows: 1 },
);

const LOST = { rows: 1, conflict: 'another node does this job by now' };

const extendLease = preparedWrite(
  (build, p: { name: string; fence: number; expires_at_ms: number }) =>
    build
      .updateTable('job_lease')
      .set({ expires_at_ms: p.expires_at_ms })
      .where('name', '=', p.name)
      .where('fence', '=', p.fence),
  LOST,
);

const touchLease = preparedWrite(
  (build, p: { name: string; fence: number }) =>
    build
      .updateTable('job_lease')
      .set((row) => ({ fence: row.ref('fence') }))
      .where('name', '=', p.name)
      .where('fence', '=', p.fence),
  LOST,
);

const findLease = prepared((build, p: { name: string }) =>
  build.selectFrom('job_lease').selectAll().where('name', '=', p.name),
);

/** Who has a job, or had it last; `undefined` for one that was never done. */
export function findHolder(db: Db, name: string): Promise<JobLeaseRow | undefined> {
  return findLease.first(db, { name });
}

/** Says whether a job is free, and what to write to have it. */
export function planLease(found: JobLeaseRow | undefined, request: JobLockRequest): LeasePlan {
  const { name, holder } = request;
  const expires_at_ms = request.now_ms + request.ttl_ms;
  if (found === undefined) {
    const write = insertLease({ name, holder, expires_at_ms });
    return { free: true, lease: { name, fence: 1, expires_at_ms }, write };
  }
  const { void_at_ms = found.expires_at_ms } = request;
  const ends_at_ms = Math.min(found.expires_at_ms, void_at_ms);
  if (found.holder !== holder && ends_at_ms > request.now_ms) {
    return { free: false, holder: found.holder, expires_at_ms: ends_at_ms };
  }
  const write = takeLease({ name, holder, expires_at_ms, fence: found.fence });
  return { free: true, lease: { name, fence: found.fence + 1, expires_at_ms }, write };
}

/**
 * Judges leases by a monotonic clock: one that was not renewed for longer than any lease of its job is given for is
 * over, however far ahead the clock of its holder was.
 */
export class LeaseWatch {
  readonly #seen = new Map<string, { says: string; since_ms: number }>();
  readonly #steady: () => number;

  /** @param steady milliseconds, from any beginning */
  constructor(steady = () => performance.now()) {
    this.#steady = steady;
  }

  /**
   * Milliseconds that a lease may have left.
   *
   * @param longest_ms no lease of that job is given for longer
   */
  observe(found: JobLeaseRow, longest_ms: number): number {
    const says = `${found.fence} ${found.holder} ${found.expires_at_ms}`;
    const now = this.#steady();
    const known = this.#seen.get(found.name);
    if (known?.says === says) return Math.max(0, known.since_ms + longest_ms - now);
    this.#seen.set(found.name, { says, since_ms: now });
    return longest_ms;
  }
}

/**
 * @param watch judges what another node has, none of which is given for longer than `longest_ms`
 * @returns the lease, or undefined when another node has it or was faster
 */
export async function acquireLease(
  store: Pick<Store, 'db' | 'commit'>,
  request: JobLockRequest,
  watch?: { seen: LeaseWatch; longest_ms: number },
): Promise<JobLock | undefined> {
  const found = await findLease.first(store.db, { name: request.name });
  const left_ms = found && watch?.seen.observe(found, watch.longest_ms);
  const void_at_ms = left_ms === undefined ? undefined : request.now_ms + left_ms;
  const plan = planLease(found, { ...request, void_at_ms });
  if (!plan.free) return undefined;
  try {
    await store.commit([plan.write]);
    return plan.lease;
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
}

/** Holds it for longer; a `conflict` when another node has taken it. */
export function renewLease(lease: JobLock, expires_at_ms: number): Write {
  return extendLease({ name: lease.name, fence: lease.fence, expires_at_ms });
}

/** Frees it for any node at once; a `conflict` when another node has taken it. */
export function releaseLease(lease: JobLock): Write {
  return extendLease({ name: lease.name, fence: lease.fence, expires_at_ms: 0 });
}

/** Belongs into every write set of a job: it refuses the set of a former holder. */
export function requireLease(lease: JobLock): Write {
  return touchLease({ name: lease.name, fence: lease.fence });
}
