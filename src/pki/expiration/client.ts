import { type App, perApp } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { OnDemandThread } from '../../core/on-demand.pool.ts';
import { DeliveryFault, type Order, type Taken } from './order.ts';
import type { FromDeliveryThread, ToDeliveryThread } from './thread.ts';

/** What a thread is given beyond the time that a delivery takes at most, until it counts as stuck. */
const GRACE_MS = 5_000;

/**
 * Delivers a warning on a thread of its own. One that is stuck is ended: the next warning gets a new one.
 *
 * @throws DeliveryFault unless the receiver has taken it
 */
export async function deliver(app: App, order: Order): Promise<Taken> {
  const thread = threadsOf(app).current;
  const timer = setTimeout(() => void thread.stop(), order.timeout_ms + GRACE_MS);
  try {
    return await thread.run({ order });
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new DeliveryFault(error.message);
  } finally {
    clearTimeout(timer);
  }
}

type DeliveryThread = OnDemandThread<Omit<ToDeliveryThread, 'id'>, FromDeliveryThread, Taken>;

/** Ended when the server is sealed: passwords that it was given go with it. */
const threadsOf = perApp((app) => {
  const threads: { current: DeliveryThread } = { current: newThread(app) };
  const end = (): Promise<void> => {
    const former = threads.current;
    threads.current = newThread(app);
    return former.stop();
  };
  app.barrier.onSeal(() => void end());
  app.onClose(end);
  return threads;
});

function newThread({ log }: App): DeliveryThread {
  return new OnDemandThread({
    name: 'expiration-warnings',
    beside: import.meta.url,
    log,
    undone: 'it was not told',
    deadline_ms: undefined,
    read: saidIn,
  });
}

function saidIn(answer: FromDeliveryThread): Taken {
  switch (answer.type) {
    case 'taken':
      return answer.taken;
    case 'fault':
      throw new DeliveryFault(answer.message);
    case 'failed':
      throw new Error(answer.message);
  }
}
