import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { FairTurns } from '../../core/fairness/fair-turns.ts';
import type { Turned } from '../../core/fairness/giving-way.ts';
import { SHARED_PARTY } from '../../core/fairness/party.ts';
import type { ReadPage } from '../../core/walk.ts';
import { askerOf } from './operations.ts';

// A page takes some milliseconds of the one thread, or of a connection to the database. More wait than
// connections are open to one address: that the list is sent while it is read leaves no way to refuse it.
const turnsOf = perApp(
  () =>
    new FairTurns({ at_once: 4, at_once_each: 2, waiting: 16_384, waiting_each: 4_096 }, refuse),
);

const KNOWN = 0;
const UNKNOWN = 1;

// What each holds until it is made is a page's rows and items, some megabytes where they are long; and of a long one a
// compiled filter, or some hundred bytes for each of thousands of scopes. Unknown callers, who may list what everybody may,
// have every other turn that somebody known waits for.
const WAITING = { waiting: 16_384, waiting_each: 4_096, preference: [KNOWN, UNKNOWN] };
const listsOf = perApp(() => ({
  short: new FairTurns({ at_once: 8, at_once_each: 4, at_once_site: 6, ...WAITING }, refuse),
  long: new FairTurns({ at_once: 4, at_once_each: 2, at_once_site: 3, ...WAITING }, refuse),
}));

/**
 * Makes a list when the caller's turn has come. It goes on as work that is shared, since others wait for it: among many
 * requests of its site it would take that many times longer.
 *
 * @param list.isLong whether it may take more than a page to make: of a long one fewer are made at once
 */
export function listInTurn<Result>(
  app: App,
  caller: Pick<Caller, 'record' | 'onGone'>,
  list: { isLong: boolean; isKnown: boolean; make(): Promise<Result> },
): Promise<Result> {
  const turns = listsOf(app)[list.isLong ? 'long' : 'short'];
  const asker = { ...askerOf(caller), rank: list.isKnown ? KNOWN : UNKNOWN };
  return turns.take(asker, () => doFor(SHARED_PARTY, () => list.make()));
}

/**
 * Begins a walk over stored rows of which few, or none, may be what the caller asks for. Its first page,
 * which is all of a usual list, is read at once; of more pages few are read at the same time, and of one
 * address fewer, as work that is shared, since others wait for them; and nothing is read for somebody who has gone.
 */
export function startWalk(app: App, caller: Pick<Caller, 'record' | 'onGone'>): ReadPage {
  const turns = turnsOf(app);
  const asker = askerOf(caller);
  let pages = 0;
  let isGone = false;
  return async (page) => {
    pages += 1;
    if (pages === 1) return page();
    if (pages === 2) {
      caller.onGone?.(() => {
        isGone = true;
      });
    }
    if (isGone) throw refuse('gone');
    return turns.take(asker, () => doFor(SHARED_PARTY, page));
  };
}

/** Fills a page of what is asked for with stored rows, some of which are read at a time. */
type FillPage = <Page>(fill: (read: ReadPage) => Promise<Page>) => Promise<Page>;

/** That more must be read than is read at once. */
class More extends Error {}

/**
 * Begins a list of stored rows of which few, or none, may be what the caller asks for. A first page that one read fills
 * waits for nobody. One that takes more is begun anew when its turn has come: thousands that wait hold nothing.
 */
export function startFilling(app: App, caller: Pick<Caller, 'record' | 'onGone'>): FillPage {
  let isFirst = true;
  return async (fill) => {
    if (isFirst) {
      isFirst = false;
      try {
        return await fill(readOnce());
      } catch (error) {
        if (!(error instanceof More)) throw error;
      }
    }
    const make = () => fillFor(caller, fill);
    return listInTurn(app, caller, { isLong: true, isKnown: true, make });
  };
}

function readOnce(): ReadPage {
  let reads = 0;
  return (page) => {
    reads += 1;
    return reads === 1 ? page() : Promise.reject(new More());
  };
}

async function fillFor<Page>(
  { onGone }: Pick<Caller, 'onGone'>,
  fill: (read: ReadPage) => Promise<Page>,
): Promise<Page> {
  let isGone = false;
  const forget = onGone?.(() => {
    isGone = true;
  });
  const breath = new Breath();
  try {
    return await fill(async (page) => {
      await breath.take();
      if (isGone) throw refuse('gone');
      return page();
    });
  } finally {
    forget?.();
  }
}

function refuse(why: Turned): Failure {
  return why === 'gone'
    ? new Failure('unavailable', 'the client has gone')
    : new Failure('rate_limited', 'too many long lists are being read', { retry_after: 5 });
}
