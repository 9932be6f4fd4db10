import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../../app/app.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { OWN_PARTY } from '../../core/fairness/party.ts';
import { type Hold, RightOfWay } from '../../core/fairness/right-of-way.ts';
import {
  acquireLease,
  findHolder,
  type JobLock,
  LeaseWatch,
  releaseLease,
} from '../../store/job-lock.ts';
import type { Store } from '../../store/store.ts';

/** What a request writes by. */
export type WriteContext = Pick<App, 'store' | 'now' | 'newId'>;

// Nodes, and threads of one, tell each other by a row. They are spoken of as nodes.

/** Milliseconds that a change of permissions waits at most for requests that go first. */
const LONGEST_MS = 2_000;
/** So long others go with them: those that came too late in the same moment, for instance. */
const JOINING_MS = 500;
/** Between two checks whether another node's request is done. */
const PAUSE_MS = 10;
/** The row by which nodes tell each other that some of their requests go first. */
const NAME = 'permissions/first';

interface Precedence {
  here: RightOfWay;
  elsewhere: LeaseWatch;
  /** What other nodes were told of last. */
  told?: { hold: Hold; known: Promise<void>; released: Promise<void> };
}

const known = new WeakMap<Store, Precedence>();

function precedenceOf(store: Store): Precedence {
  const found = known.get(store);
  if (found) return found;
  const here = new RightOfWay({ longest_ms: LONGEST_MS, joining_ms: JOINING_MS });
  const made: Precedence = { here, elsewhere: new LeaseWatch() };
  known.set(store, made);
  return made;
}

/**
 * Runs a request while all changes of permissions wait, on every node: one that is judged or planned at length would
 * otherwise lose to them for as long as they go on.
 *
 * @param changes whether the request changes permissions itself: then it goes alone, or those beside it would lose to it
 */
export function goFirst<Result>(
  context: WriteContext,
  changes: boolean,
  run: (hold: Hold) => Promise<Result>,
): Promise<Result> {
  const { here } = precedenceOf(context.store);
  if (!context.store.hasOthers || here.isMine) {
    return changes ? here.takeAlone(run) : here.take(run);
  }
  if (!changes) {
    return here.take((hold) => {
      // Not waited for: what loses to another node before that node knows is tried again.
      void tell(context, hold);
      return run(hold);
    });
  }
  return here.takeAlone(async (hold) => {
    await tell(context, hold);
    return run(hold);
  });
}

/** Whether the work under way goes first, and others wait for it. */
export function goesFirst(store: Store): boolean {
  return precedenceOf(store).here.isMine;
}

/** Tells the other nodes that some go first here, and once that is over. Those who go together are told of once. */
function tell(context: WriteContext, hold: Hold): Promise<void> {
  const { store } = context;
  const precedence = precedenceOf(store);
  if (precedence.told?.hold === hold) return precedence.told.known;
  const { told } = precedence;
  // Those before are over on every node by then, or other nodes would never have their turn.
  const lease = Promise.resolve(told?.released)
    .then(() => doFor(OWN_PARTY, () => announce(context, hold)))
    .catch(() => undefined);
  // Where it cannot be said that it is over, others find that out by themselves.
  const released = Promise.all([lease, hold.over])
    .then(([had]) => (had ? doFor(OWN_PARTY, () => store.commit([releaseLease(had)])) : undefined))
    .catch(() => {});
  precedence.told = { hold, known: lease.then(() => {}), released };
  return precedence.told.known;
}

/** Undefined when others went first all the time. */
async function announce(
  { store, now, newId }: WriteContext,
  hold: Hold,
): Promise<JobLock | undefined> {
  const watch = { seen: precedenceOf(store).elsewhere, longest_ms: LONGEST_MS };
  const holder = newId();
  while (!hold.isOver) {
    const request = { name: NAME, holder, now_ms: now(), ttl_ms: LONGEST_MS };
    const lease = await acquireLease(store, request, watch);
    if (lease) return lease;
    await delay(PAUSE_MS);
  }
  return undefined;
}

/** Before a change of what is permitted is written: waits for those that go first, if some do. */
export async function letFirst(store: Store): Promise<void> {
  const { here, elsewhere } = precedenceOf(store);
  await here.pass();
  if (!store.hasOthers || here.isMine) return;
  const first = await findHolder(store.db, NAME);
  let found = first;
  // Only for those that are first now, not for any that follow them.
  while (found && found.expires_at_ms > 0 && found.fence === first?.fence) {
    if (elsewhere.observe(found, LONGEST_MS) === 0) return;
    await delay(PAUSE_MS);
    found = await findHolder(store.db, NAME);
  }
}
