import { type App, perApp } from '../../app/app.ts';
import { inOnePlace, oneForAll } from '../../app/one-for-all.ts';
import { Lines } from '../../core/fairness/line.ts';

const linesOf = perApp(() => new Lines());

/** Whether somebody runs by a key, or waits for it, as far as this thread knows. */
export const isInLine = (app: App, key: string): boolean => linesOf(app).has(key);

/** Runs when nobody else runs by the same key any more, on whatever thread. */
export function waitInLine<Result>(
  app: App,
  key: string,
  run: () => Promise<Result>,
): Promise<Result> {
  if (!oneForAll(app).ask) return linesOf(app).wait(key, run);
  // Of each thread one at a time stands in the line of all.
  return linesOf(app).wait(key, async () => {
    const turn = await enter(app, key);
    try {
      return await run();
    } finally {
      leave(app, turn).catch(() => {});
    }
  });
}

/** A thread that has died does not leave; one that is slow is planned anew by what the next has left. */
const LONGEST_MS = 5_000;

const turnsOf = perApp(() => ({ next: 0, held: new Map<number, () => void>() }));

const enter = inOnePlace('lines/enter', (app, key: string) => {
  const turns = turnsOf(app);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const hold = (): Promise<void> =>
    new Promise((end) => {
      const turn = turns.next++;
      const timer = setTimeout(() => turns.held.get(turn)?.(), LONGEST_MS);
      turns.held.set(turn, () => {
        clearTimeout(timer);
        turns.held.delete(turn);
        end();
      });
      resolve(turn);
    });
  linesOf(app).wait(key, hold).catch(reject);
  return promise;
});

const leave = inOnePlace('lines/leave', async (app, turn: number) => {
  turnsOf(app).held.get(turn)?.();
});
