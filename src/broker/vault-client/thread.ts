import { parentPort } from 'node:worker_threads';
import { VaultFault } from './answer.ts';
import type { MadeLease } from './made.ts';
import { type Order, type Said, talk } from './talk/operations.ts';

// The entry of the thread that speaks to Vault servers: a handshake takes as long as the certificates which the
// other side sends make it, an answer as long as the parts that it comes in, and here it holds up nobody but
// those who ask Vault servers; `Shares` divides it among these.

export interface ToTalkThread {
  id: number;
  order: Order;
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

parentPort?.on('message', async ({ id, order }: ToTalkThread) => {
  parentPort?.postMessage(await answer(id, order));
});

async function answer(id: number, order: Order): Promise<FromTalkThread> {
  try {
    return { id, type: 'said', said: await talk(order) };
  } catch (error) {
    if (error instanceof VaultFault) {
      const { kind, message, made } = error;
      return { id, type: 'fault', kind, message, made };
    }
    return { id, type: 'failed', message: error instanceof Error ? error.message : String(error) };
  }
}
