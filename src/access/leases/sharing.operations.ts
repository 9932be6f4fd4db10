import { type App, perApp } from '../../app/app.ts';
import { SharedWork } from '../../core/fairness/shared-work.ts';
import type { Shares } from '../../core/fairness/shares.ts';
import { SlowOnes } from '../../core/fairness/slow-ones.ts';
import { Tries } from '../../core/fairness/tries.ts';

/**
 * Of what a run of a job asks other servers. Together with what it waits for at last, and the time until it
 * runs again, it comes round before a lease of a minute, renewed with half of its time left, is over.
 */
const SHARES: Shares = {
  quick: { all: 24, site: 8, party: 4, line: 4 },
  slow: { all: 8, site: 2, party: 1, line: 1 },
  waiting: { all: 5_000, site: 1_000, party: 800, line: 400 },
  slow_ms: 2_000,
  silent_ms: 9_000,
  begin_ms: 8_000,
  begin_slow_ms: 3_000,
};

/** What is known of other servers, by job: one that is slow to revoke may be quick to renew. */
const knownOf = perApp(() => ({
  ends: { slow: new SlowOnes(), tries: new Tries() },
  renewals: { slow: new SlowOnes(), tries: new Tries() },
}));

/**
 * Shares out what one run of a job asks of other servers; the next run knows which are slow, and what failed.
 *
 * @param what whose knowledge of slow servers and failures counts
 * @param offer offers everything that is to be asked; called again once there is room for what was left out
 * @returns when all has ended that was begun: where `offer` fails nothing more is, and nothing runs beside the next run
 */
export async function shareWork(
  app: App,
  work: { readonly stopping: boolean },
  what: 'ends' | 'renewals',
  offer: (shared: SharedWork) => Promise<void>,
): Promise<void> {
  let hasFailed = false;
  const shared = new SharedWork(SHARES, knownOf(app)[what], () => hasFailed || work.stopping);
  try {
    do {
      await offer(shared);
    } while (await shared.hasRoomAgain());
  } catch (error) {
    hasFailed = true;
    throw error;
  } finally {
    await shared.end();
  }
}
