import { parentPort } from 'node:worker_threads';
import { sendMail } from './mail.client.ts';
import { DeliveryFault, type Order, type Taken } from './order.ts';
import { post } from './webhook.client.ts';

// The entry of the thread that delivers warnings: a handshake takes as long as the certificates which the other side sends
// make it, and holds up nothing but other warnings here.

interface ToDeliveryThread {
  id: number;
  order: Order;
}

export type FromDeliveryThread =
  | { id: number; type: 'taken'; taken: Taken }
  | { id: number; type: 'fault'; message: string }
  | { id: number; type: 'failed'; message: string };

parentPort?.on('message', async ({ id, order }: ToDeliveryThread) => {
  parentPort?.postMessage(await say(id, order));
});

async function tell(order: Order): Promise<Taken> {
  if (order.channel === 'mail') return { refused: await sendMail(order) };
  await post(order);
  return { refused: 0 };
}

async function say(id: number, order: Order): Promise<FromDeliveryThread> {
  try {
    return { id, type: 'taken', taken: await tell(order) };
  } catch (error) {
    if (error instanceof DeliveryFault) return { id, type: 'fault', message: error.message };
    return { id, type: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}
