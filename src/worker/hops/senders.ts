import { type App, perApp } from '../../app/app.ts';
import type { Brought, Errand } from '../wire/hop.ts';

/** One worker, as this server speaks to it. */
export interface Sender {
  /** Has it do something. @throws Failure when it cannot */
  bring(errand: Errand): Promise<Brought>;
  /** Whether it is there at this moment, and does not go. */
  isThere(): Promise<boolean>;
}

/** How this server speaks to workers: to its own, and to those whose connection it holds. */
export const sendersOf = perApp(() => new Map<string, Sender>());

/** @returns what takes it away again, unless another one has taken its place */
export function addSender(app: App, worker_id: string, sender: Sender): () => void {
  const senders = sendersOf(app);
  senders.set(worker_id, sender);
  return () => {
    if (senders.get(worker_id) === sender) senders.delete(worker_id);
  };
}
