import type { App } from '../../app/app.ts';
import type { EndingPages } from '../../app/ended.ts';
import type { Lease } from '../../app/lease.ts';
import { Breath } from '../../core/fairness/breath.ts';
import type { Outcome, Piece, Whose } from '../../core/fairness/piece.ts';
import { commitEnd } from '../endings/operations.ts';
import {
  type EndingWork,
  endEach,
  endLease,
  failedOnes,
  noteFailure,
} from './ending.operations.ts';
import { shareWork } from './sharing.operations.ts';
import {
  expireLeases,
  expireRange,
  findNthInRange,
  type IdRange,
  listUnexpiredOfMount,
} from './store.ts';
import { goThroughDue, takeDueInTurns } from './turns.operations.ts';

export const PAGE = 200;
/** Leases that one write set makes due. */
const MADE_DUE = 1_000;

/** Makes all leases of a range due, page by page: others write in between. */
export async function expireInPages(app: App, work: EndingWork, range: IdRange): Promise<void> {
  const now = Math.floor(app.now() / 1000);
  for (let { from } = range; ; ) {
    // It begins the next page; so far nothing before it is alive.
    const next = await findNthInRange(app.db, { ...range, from }, MADE_DUE + 1);
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
    const scan = {
      get stopping() {
        return shared.isOver;
      },
    };
    return goThroughDue(app, scan, async (page) => {
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
