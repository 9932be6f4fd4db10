import type { App } from '../../src/app/app.ts';
import { readingBy } from './reading-by.ts';

/** Turns of the event loop without a question to the store, after which nobody is on the way. */
const QUIET_TURNS = 100;

/** An app that counts how many changes are being made durable at the same time. */
export function countCommitting(app: App): { counting: App; most(): number } {
  let present = 0;
  let most = 0;
  let asking = 0;
  const db = readingBy(app.db, async (_text, read) => {
    asking += 1;
    return read().finally(() => {
      asking -= 1;
    });
  });
  const wait = async (): Promise<void> => {
    present += 1;
    most = Math.max(most, present);
    // Until all that would come have come: none is done before all have read how long what they change is.
    for (let quiet = 0; quiet < QUIET_TURNS; quiet = asking === 0 ? quiet + 1 : 0) {
      await new Promise((next) => setImmediate(next));
    }
  };
  const counted =
    (commit: App['commit']): App['commit'] =>
    async (caller, effects) => {
      await wait();
      await commit(caller, effects).finally(() => {
        present -= 1;
      });
    };
  const { commit, commitOnce } = app;
  const counting = { ...app, db, commit: counted(commit), commitOnce: counted(commitOnce) };
  return { counting, most: () => most };
}
