import { setTimeout as delay } from 'node:timers/promises';
import type { App } from '../../app.ts';
import { type Hold, RightOfWay } from '../../core/right-of-way.ts';
import {
  acquireLease,
  findHolder,
  type Lease,
  LeaseWatch,
  releaseLease,
} from '../../store/lease.ts';
import type { Store } from '../../store/store.ts';

/** What a request writes by. */
export type Ground = Pick<App, 'store' | 'now' | 'newId'>;

/** Milliseconds that a change of permissions waits at most for a request that goes first. */
const LONGEST_MS = 2_000;
/** Between two looks at whether another node's request is done. */
const PAUSE_MS = 10;
/** The row by which nodes tell each other that one of their requests goes first. */
const NAME = 'permissions/first';

interface Precedence {
  here: RightOfWay;
  elsewhere: LeaseWatch;
}

const known = new WeakMap<Store, Precedence>();

function precedenceOf(store: Store): Precedence {
  const found = known.get(store);
  if (found) return found;
  const made = { here: new RightOfWay(LONGEST_MS), elsewhere: new LeaseWatch() };
  known.set(store, made);
  return made;
}

/** Whether a request of another node can be the one that goes first. */
const hasOthers = ({ engine }: Store): boolean => engine !== 'sqlite';

/**
 * Has all that change what somebody is permitted wait, on every node, while a request that rests on that is
 * judged, planned and written: one that judges at length would else come too late for as long as others do.
 */
export function goFirst<Result>(
  ground: Ground,
  run: (hold: Hold) => Promise<Result>,
): Promise<Result> {
  const { store } = ground;
  const { here } = precedenceOf(store);
  if (!hasOthers(store) || here.isMine) return here.take(run);
  return here.take(async (hold) => {
    const lease = await announce(ground, hold);
    try {
      return await run(hold);
    } finally {
      // Where it cannot be said that it is over, others find that out by themselves.
      if (lease) await store.commit([releaseLease(lease)]).catch(() => {});
    }
  });
}

/** Tells the other nodes; undefined when theirs went first all the time. */
async function announce({ store, now, newId }: Ground, hold: Hold): Promise<Lease | undefined> {
  const watch = { seen: precedenceOf(store).elsewhere, longest_ms: LONGEST_MS };
  const holder = newId();
  while (!hold.isOver) {
    const wish = { name: NAME, holder, now_ms: now(), ttl_ms: LONGEST_MS };
    const lease = await acquireLease(store, wish, watch);
    if (lease) return lease;
    await delay(PAUSE_MS);
  }
  return undefined;
}

/** Before a change of what is permitted is written: waits for the request that goes first, if one does. */
export async function letFirst(store: Store): Promise<void> {
  const { here, elsewhere } = precedenceOf(store);
  await here.pass();
  if (!hasOthers(store) || here.isMine) return;
  const first = await findHolder(store.db, NAME);
  let found = first;
  // For that one alone, so that nobody waits for a line of them.
  while (found && found.expires_at_ms > 0 && found.fence === first?.fence) {
    if (elsewhere.look(found, LONGEST_MS) === 0) return;
    await delay(PAUSE_MS);
    found = await findHolder(store.db, NAME);
  }
}
