import { OnDemandThread, type ThreadWork } from '../core/on-demand.pool.ts';
import { type App, perApp } from './app.ts';

/** What a thread is given beyond the time that an order takes at most, until it counts as stuck. */
const GRACE_MS = 5_000;

type Ask<Order, Result> = (app: App, order: Order) => Promise<Result>;

/**
 * A thread for each app that talks to servers of others. It is ended when the server is sealed: keys and passwords that it
 * was given go with it. One that is stuck is ended, too, and the next order gets a new one.
 *
 * @returns asks it, and rejects with a Failure when the thread gave no answer
 */
export function sealedThread<
  Order extends { timeout_ms: number },
  Answer extends { id: number },
  Result,
>(
  work: Pick<ThreadWork<Answer, Result>, 'name' | 'beside' | 'undone' | 'read'>,
): Ask<Order, Result> {
  const start = ({ log }: App) =>
    new OnDemandThread<{ order: Order }, Answer, Result>({ ...work, log, deadline_ms: undefined });
  const threadsOf = perApp((app) => {
    const threads = { current: start(app) };
    const end = (): Promise<void> => {
      const former = threads.current;
      threads.current = start(app);
      return former.stop();
    };
    app.barrier.onSeal(() => void end());
    app.onClose(end);
    return threads;
  });
  return async (app, order) => {
    const thread = threadsOf(app).current;
    const timer = setTimeout(() => void thread.stop(), order.timeout_ms + GRACE_MS);
    try {
      return await thread.run({ order });
    } finally {
      clearTimeout(timer);
    }
  };
}
