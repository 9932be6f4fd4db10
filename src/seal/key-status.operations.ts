import { type App, perApp } from '../app/app.ts';

/** Asks the other threads that answer how many values they have sealed; absent where there are none. */
export const otherEncryptions = perApp<{ ask?: () => Promise<number> }>(() => ({}));

/** How many values this node has sealed with the newest data keys, on all threads. */
export async function countEncryptions(app: App): Promise<number> {
  const own = app.barrier.generation().encryptions;
  return own + ((await otherEncryptions(app).ask?.()) ?? 0);
}
