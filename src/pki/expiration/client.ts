import type { App } from '../../app/app.ts';
import { sealedThread } from '../../app/sealed-thread.pool.ts';
import { Failure } from '../../core/failure.ts';
import { DeliveryFault, type Order, type Taken } from './order.ts';
import type { FromDeliveryThread } from './thread.ts';

const deliverOnThread = sealedThread<Order, FromDeliveryThread, Taken>({
  name: 'expiration-warnings',
  beside: import.meta.url,
  undone: 'it was not told',
  read: saidIn,
});

/**
 * Delivers a warning on a thread of its own.
 *
 * @throws DeliveryFault unless the receiver has taken it
 */
export async function deliver(app: App, order: Order): Promise<Taken> {
  try {
    return await deliverOnThread(app, order);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new DeliveryFault(error.message);
  }
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
