import { type App, perApp } from '../../app/app.ts';
import type { Brought, Errand } from '../wire/hop.ts';

/** Has a worker do something. @throws Failure when it cannot */
export type Sender = (errand: Errand) => Promise<Brought>;

/** How this server speaks to workers: to its own, and to those whose connection it holds. */
export const sendersOf = perApp(() => new Map<string, Sender>());

/** @returns what takes it away again, unless another one has taken its place */
export function addSender(app: App, worker_id: string, send: Sender): () => void {
  const senders = sendersOf(app);
  senders.set(worker_id, send);
  return () => {
    if (senders.get(worker_id) === send) senders.delete(worker_id);
  };
}
