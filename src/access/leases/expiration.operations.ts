import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { EndingPages } from '../../app/ended.ts';
import type { Asked, Lease } from '../../app/lease.ts';
import { Failure } from '../../core/failure.ts';
import { Breath } from '../../core/fairness/breath.ts';
import type { Outcome, Piece, Whose } from '../../core/fairness/piece.ts';
import { GrowingWaits } from '../../core/growing-waits.ts';
import { isForRoom } from '../../store/waiting-sets.ts';
import type { Effect } from '../../store/write.ts';
import { commitEnd } from '../endings/operations.ts';
import { removeEnded, removeEndedOfMount } from '../tokens/expiration.operations.ts';
import { shareWork } from './sharing.operations.ts';
import {
  deleteLease,
  expireLeases,
  expireRange,
  findLease,
  findNthInRange,
  hasMount,
  type IdRange,
  listLeasesOfTokens,
  listUnexpiredOfMount,
} from './store.ts';
import { goThroughDue, takeDueInTurns } from './turns.operations.ts';

export const PAGE = 200;
/** Leases ended at the same time: their write sets share transactions. */
const AT_ONCE = 20;
/** Leases that the end of tokens ends before it is answered; the rest follows by the job. */
const IN_REQUEST = 2_000;
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
const failedOnes = perApp(() => new GrowingWaits({ longest: 600_000 }));

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
      if (!(error instanceof Failure && error.kind === 'conflict')) throw error;
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
  await goThrough(work, next, async (page) => {
    failed += (await endEach(app, work, page, force)).length;
  });
  return failed;
}

async function goThrough(
  work: Pick<EndingWork, 'stopping'>,
  next: NextPage,
  take: (page: Lease[]) => Promise<void>,
): Promise<void> {
  let last: Lease | undefined;
  while (!work.stopping) {
    const page = await next(last);
    if (page.length === 0) return;
    await take(page);
    last = page.at(-1);
  }
}

/**
 * @returns those that could not be ended
 * @throws Failure `unavailable` where the database has no room for more writes: each of the others would be refused, too
 */
async function endEach(
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
function noteFailure(app: App, id: string, err: unknown): boolean {
  app.log.error({ err }, 'a lease could not be ended');
  const isForNow = err instanceof Failure && err.detail.retry_after !== undefined;
  if (!isForNow) failedOnes(app).note(id, app.now());
  return isForNow;
}

/** Leases that one write set makes due. */
const MADE_DUE = 1_000;

/** Makes all leases of a range due, page by page: others write in between. */
export async function expireInPages(app: App, work: EndingWork, range: IdRange): Promise<void> {
  const now = Math.floor(app.now() / 1000);
  for (let { from } = range; ; ) {
    // It begins the next page; so far nothing before it is alive.
    const next = await findNthInRange(app.db, { ...range, from }, { after: '', nth: MADE_DUE + 1 });
    const page = expireRange({ from, to: next ?? range.to }, now);
    await commitEnd(app, () => work.commit([page]));
    if (next === undefined) return;
    from = next;
  }
}

/** Makes the leases of a mount due until less than a page of them is left. */
export async function expireOfMountBeforehand(
  app: App,
  work: Pick<EndingPages, 'commit'>,
  mount_id: string,
): Promise<void> {
  for (;;) {
    const now = Math.floor(app.now() / 1000);
    const ids = await listUnexpiredOfMount(app.db, mount_id, { now, limit: MADE_DUE });
    if (ids.length < MADE_DUE) return;
    await work.commit([expireLeases(ids, now)], { leases: ids.length });
  }
}

/** Which of the leases that are due are tried. */
type MayTry = (lease: Lease) => boolean;

/** Those that need not wait, as they could not be ended before. */
const mayTryNow =
  (app: App): MayTry =>
  ({ id }) =>
    failedOnes(app).isOver(id, app.now());

/**
 * Ends every lease that is due: its time is over, or its token is gone. Where somebody else has to be asked for that,
 * each project has places of its own for each server: none holds up the others, nor what asks nobody.
 */
export async function endDueLeases(
  app: App,
  work: EndingWork,
  mayTry: MayTry = mayTryNow(app),
): Promise<void> {
  // Both to their end, also if one fails: nothing of it goes on when this is over.
  const ends = await Promise.allSettled([
    endDueByAsking(app, work, mayTry),
    endDueAlone(app, work, mayTry),
  ]);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

type WhoseOf = (lease: Lease) => Promise<Whose | undefined>;

function tellingWhose(app: App): WhoseOf {
  const finds = new Map(
    Object.entries(app.leaseKinds).map(([name, kind]) => [name, kind.tellWhose?.(app)]),
  );
  return async (lease) => finds.get(lease.kind)?.(lease);
}

/** Those for which nobody else has to be asked. */
export async function endDueAlone(
  app: App,
  work: EndingWork,
  mayTry: MayTry = mayTryNow(app),
): Promise<void> {
  const whoseOf = tellingWhose(app);
  await takeDueInTurns(app, work, async (page) => {
    const own = new Set<Lease>();
    for (const lease of page.filter(mayTry)) if (!(await whoseOf(lease))) own.add(lease);
    for (const failed of await endEach(app, work, [...own])) own.delete(failed);
    return page.filter((lease) => !own.has(lease));
  });
}

/** The others. */
export async function endDueByAsking(
  app: App,
  work: EndingWork,
  mayTry: MayTry = mayTryNow(app),
): Promise<void> {
  const whoseOf = tellingWhose(app);
  const breath = new Breath();
  await shareWork(app, work, 'ends', (shared) => {
    const looking = {
      get stopping() {
        return shared.isOver;
      },
    };
    return goThroughDue(app, looking, async (page) => {
      for (const lease of page.filter(mayTry)) {
        const whose = await whoseOf(lease);
        if (whose) shared.offer(pieceOf(app, work, { lease, whose }));
        await breath.take();
      }
    });
  });
}

function pieceOf(
  app: App,
  work: EndingWork,
  { lease, whose }: { lease: Lease; whose: Whose },
): Piece {
  const { id, expires_at: until } = lease;
  const end = async (hurry: boolean): Promise<Outcome> => {
    try {
      await endLease(app, work, lease, { asked: { whose, hurry } });
      return 'done';
    } catch (error) {
      return noteFailure(app, id, error) ? 'not asked' : 'in vain';
    }
  };
  return { id, whose, until, work: end };
}

/**
 * Removes tokens that a request has ended by a write set, and those that descend from them, once that is committed: their
 * leases end first. As far as a request may take, and nobody else's, so that its record tells of nothing that it did not
 * end. The rest is dead already and follows with the next run of the jobs.
 */
export async function removeTokensAfterCommit(
  app: App,
  caller: Caller,
  ended: { token_ids: readonly string[] } | { mount_id: string },
): Promise<void> {
  const beforehand = endingLeases(app, workOf(app, caller));
  try {
    if ('mount_id' in ended) await removeEndedOfMount(app, ended.mount_id, { beforehand });
    else await removeEnded(app, ended.token_ids, { beforehand });
  } catch (err) {
    app.log.warn({ err }, 'what is left of tokens that were ended goes later');
  }
}

/**
 * As {@link removeTokensAfterCommit}, of the log-ins that were noted while the request's write sets were planned
 * (`caller.ending`). Batch log-ins have no token to be removed: leases that they had end.
 */
export async function removeLogInsAfterCommit(app: App, caller: Caller): Promise<void> {
  const { token_ids, lease_ids } = caller.ending;
  await removeTokensAfterCommit(app, caller, { token_ids: [...token_ids] });
  await endLoosened(app, caller, [...lease_ids]);
}

/** Leases that had a holder, as far as they have none any more. */
async function endLoosened(app: App, caller: Caller, ids: readonly string[]): Promise<void> {
  const work = workOf(app, caller);
  try {
    await endByIds(app, work, ids, ({ token_id, alias_id }) => !token_id && !alias_id);
  } catch (err) {
    app.log.warn({ err }, 'what is left of log-ins that were ended goes later');
  }
}

async function endByIds(
  app: App,
  work: EndingWork,
  ids: readonly string[],
  isMeant: (lease: Lease) => boolean = () => true,
): Promise<void> {
  for (let start = 0; start < ids.length; start += AT_ONCE) {
    const some = ids.slice(start, start + AT_ONCE);
    const leases = await Promise.all(some.map((id) => findLease(app.db, id)));
    const meant = leases.filter((lease) => lease !== undefined).filter(isMeant);
    await endEach(app, work, meant);
  }
}

/** Ends the leases of some tokens while these are there to be asked about; each lease is tried once. */
function endingLeases(app: App, work: EndingWork): (token_ids: readonly string[]) => Promise<void> {
  const tried = new Set<string>();
  return async (token_ids) => {
    if (tried.size >= IN_REQUEST) return;
    const found = await listLeasesOfTokens(app.db, token_ids, IN_REQUEST);
    const ids = found.filter((id) => !tried.has(id)).slice(0, IN_REQUEST - tried.size);
    for (const id of ids) tried.add(id);
    await endByIds(app, work, ids);
  };
}
