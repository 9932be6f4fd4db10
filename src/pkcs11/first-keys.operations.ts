import { setTimeout as wait } from 'node:timers/promises';
import { type App, perApp } from '../app/app.ts';
import { nodeName } from '../config/config.ts';
import { Failure } from '../core/failure.ts';
import { doFor } from '../core/fairness/asking.ts';
import { OWN_PARTY } from '../core/fairness/party.ts';
import {
  acquireLease,
  type JobLock,
  LeaseWatch,
  releaseLease,
  renewLease,
} from '../store/job-lock.ts';
import type { Write } from '../store/write.ts';

// A token keeps several keys of one label, and then nobody knows which of them is meant. So whoever is to make a
// key holds the one lease for that, looks once more, and only then makes it: within a server, among the nodes of an
// installation, and whichever name a library, a slot or a token has.

const LEASE = 'device-key';
/** How long the node that makes a key may say nothing before another one takes over. */
const SILENCE_MS = 30_000;
const BEATS = 6;
/** For a turn: time for a node that died in the middle to be given up, and for a slow device. */
const PATIENCE_MS = 60_000;
const POLL_MS = 100;
const MOST_WAITING = 64;
/**
 * What is made cannot be taken back by a fence, and clocks of nodes may differ: this lease is never over by them,
 * only by having said the same for {@link SILENCE_MS} by the steady clock of whoever looks.
 */
const FAR_MS = 365 * 24 * 3_600_000;

interface Waiting {
  last: Promise<unknown>;
  count: number;
  seen: LeaseWatch;
}
const waitingOf = perApp<Waiting>(() => ({
  last: Promise.resolve(),
  count: 0,
  seen: new LeaseWatch(),
}));

/**
 * The key that is found in a token, or one that is made there: one alone, however many ask for it at once. A key that
 * a node made before it died is found like any other.
 *
 * @param making.find undefined where there is none
 * @param limits.silence_ms the same on all nodes
 * @throws Failure `unavailable` when others take too long, `rate_limited` when too many wait
 */
export async function findOrMakeKey<Key>(
  app: App,
  making: { find(): Promise<Key | undefined>; make(): Promise<Key> },
  { silence_ms = SILENCE_MS, patience_ms = PATIENCE_MS } = {},
): Promise<Key> {
  const found = await making.find();
  if (found !== undefined) return found;
  return inTurn(app, patience_ms, async (late) => {
    const lease = await requireLease(app, silence_ms, late);
    const beat = setInterval(() => void renew(app, lease).catch(() => {}), silence_ms / BEATS);
    beat.unref();
    try {
      const others = await making.find();
      if (others !== undefined) return others;
      // Not made by a node that was held up until another one took over.
      await renew(app, lease);
      return await making.make();
    } finally {
      clearInterval(beat);
      // Whoever has it by now keeps it.
      await write(app, releaseLease(lease)).catch(() => {});
    }
  });
}

/** One at a time in this server. */
async function inTurn<Result>(
  app: App,
  patience_ms: number,
  work: (late: () => boolean) => Promise<Result>,
): Promise<Result> {
  const waiting = waitingOf(app);
  if (waiting.count >= MOST_WAITING) {
    const because = 'too many wait for keys of devices, try again in some seconds';
    throw new Failure('rate_limited', because, { retry_after: 5 });
  }
  const since = performance.now();
  const late = (): boolean => performance.now() - since >= patience_ms;
  waiting.count += 1;
  const before = waiting.last;
  // Whoever has given up does nothing when it is their turn.
  const mine = before.then(() => work(late));
  waiting.last = mine.catch(() => {});
  const waited = new AbortController();
  try {
    const isLate = await Promise.race([
      before.then(() => false),
      wait(patience_ms, true, { ref: false, signal: waited.signal }),
    ]);
    if (isLate) throw underWay();
    return await mine;
  } finally {
    waited.abort();
    waiting.count -= 1;
  }
}

const underWay = (): Failure =>
  new Failure('unavailable', 'a key is being made in a device: try again', {
    retry_after: 5,
  });

async function requireLease(app: App, longest_ms: number, late: () => boolean): Promise<JobLock> {
  const { seen } = waitingOf(app);
  while (!late()) {
    const request = {
      ...{ name: LEASE, holder: nodeName(app.config) },
      ...{ now_ms: app.now(), ttl_ms: FAR_MS },
    };
    const watch = { seen, longest_ms };
    const lease = await doFor(OWN_PARTY, () => acquireLease(app.store, request, watch));
    if (lease) return lease;
    await wait(POLL_MS);
  }
  throw underWay();
}

const renew = (app: App, lease: JobLock): Promise<void> =>
  write(app, renewLease(lease, app.now() + FAR_MS));

/** Others wait for it, so that it is not written in the turn of whoever asked. */
const write = (app: App, one: Write): Promise<void> =>
  doFor(OWN_PARTY, async () => void (await app.store.commit([one])));
