import { parentPort } from 'node:worker_threads';
import { VaultFault } from './answer.ts';
import type { Said } from './coming.ts';
import type { MadeLease } from './made.ts';
import { type Order, talk } from './talk.client.ts';

// The entry of the thread that speaks to Vault servers: a handshake takes as long as the certificates which the
// other side sends make it, an answer as long as the parts that it comes in, and here it holds up nobody but
// those who ask Vault servers; `Shares` divides it among these.

export interface ToTalkThread {
  id: number;
  order: Order;
}

/** That what was said to an order has been parsed. */
export interface Parsed {
  parsed: number;
}

export type FromTalkThread =
  | { id: number; type: 'said'; said: Said }
  | {
      id: number;
      type: 'fault';
      kind: VaultFault['kind'];
      message: string;
      made: MadeLease | undefined;
    }
  | { id: number; type: 'failed'; message: string };

/** What is handed over and not parsed yet, by the order's number. */
const handed = new Map<number, () => void>();

parentPort?.on('message', async (message: ToTalkThread | Parsed) => {
  if ('parsed' in message) {
    handed.get(message.parsed)?.();
    handed.delete(message.parsed);
    return;
  }
  await answer(message.id, message.order);
});

function hand(id: number, said: Said): Promise<void> {
  const parsed = Promise.withResolvers<void>();
  handed.set(id, parsed.resolve);
  post({ id, type: 'said', said });
  return parsed.promise;
}

const post = (message: FromTalkThread): void => parentPort?.postMessage(message);

async function answer(id: number, order: Order): Promise<void> {
  try {
    await talk(order, (said) => hand(id, said));
  } catch (error) {
    if (error instanceof VaultFault) {
      const { kind, message, made } = error;
      post({ id, type: 'fault', kind, message, made });
      return;
    }
    post({ id, type: 'failed', message: error instanceof Error ? error.message : String(error) });
  }
}
