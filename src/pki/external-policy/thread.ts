import { parentPort } from 'node:worker_threads';
import { type PolicyAnswer, PolicyFault, type PolicyFaultKind } from './answer.ts';
import { ask, type Order } from './talk.client.ts';

// The entry of the thread that asks policy services: a handshake takes as long as the certificates which the other side
// sends make it, and an answer is parsed whatever it holds; here it holds up nobody but those who ask services.

interface ToPolicyThread {
  id: number;
  order: Order;
}

export type FromPolicyThread =
  | { id: number; type: 'said'; answer: PolicyAnswer }
  | { id: number; type: 'fault'; kind: PolicyFaultKind; message: string }
  | { id: number; type: 'failed'; message: string };

parentPort?.on('message', async ({ id, order }: ToPolicyThread) => {
  parentPort?.postMessage(await say(id, order));
});

async function say(id: number, order: Order): Promise<FromPolicyThread> {
  try {
    return { id, type: 'said', answer: await ask(order) };
  } catch (error) {
    if (error instanceof PolicyFault) {
      return { id, type: 'fault', kind: error.kind, message: error.message };
    }
    return { id, type: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}
