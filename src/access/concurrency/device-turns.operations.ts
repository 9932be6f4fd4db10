import { type App, perApp } from '../../app/app.ts';
import { BoundedMap } from '../../core/bounded-map.ts';
import type { Asker } from '../../core/fairness/asker.ts';
import { FairTurns } from '../../core/fairness/fair-turns.ts';
import type { Turned } from '../../core/fairness/giving-way.ts';
import { isCheap } from '../../x509/algorithms.ts';
import type { KeyDescription } from '../../x509/keys.ts';

/** A key to sign with, of the server or of a device. */
export type SigningKey = KeyDescription & { readonly managed_key_id?: string };

/** Whether a signature is made before anybody could be waited for. */
export const isQuick = (key: SigningKey): boolean =>
  key.managed_key_id === undefined && isCheap(key);

// A device does one thing at a time. Each of its keys has a line of its own, so that one that cannot be reached holds up
// nobody else's; behind them all is the line of its module.
const DEVICE_PLACES = {
  ...{ at_once: 4, at_once_each: 2, waiting: 512, waiting_each: 128 },
  longest_wait_ms: 5_000,
};

/** As many keys as there may be, and as many again that are gone. */
const MOST_KEYS = 2_000;
const turnsOf = perApp(() => new BoundedMap<FairTurns>(MOST_KEYS));

/** Signs with a key that a device has when it is the asker's turn. @param refuse says why it never is */
export async function signOnDevice<Result>(
  app: App,
  asker: Asker,
  managed_key_id: string,
  work: { sign: () => Promise<Result>; refuse: (why: Turned) => Error },
): Promise<Result> {
  const all = turnsOf(app);
  const turns = all.get(managed_key_id) ?? new FairTurns(DEVICE_PLACES, work.refuse);
  all.set(managed_key_id, turns);
  return turns.take(asker, work.sign);
}
