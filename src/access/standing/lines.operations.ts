import { type App, perApp } from '../../app/app.ts';
import { inOnePlace, oneForAll, whenThreadEnds } from '../../app/one-for-all.ts';
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
  const { ask, place = 0 } = oneForAll(app);
  if (!ask) return linesOf(app).wait(key, run);
  // Of each thread one at a time stands in the line of all.
  return linesOf(app).wait(key, async () => {
    const turn = await enter(app, { key, place });
    try {
      return await run();
    } finally {
      leave(app, turn).catch(() => {});
    }
  });
}

/** A thread that hangs does not leave; one that is slow is planned anew by what the next has left. */
const LONGEST_MS = 5_000;

/** What stands in a line for a thread. */
interface Entered {
  place: number;
  /** Its turn is over, also one that has not come. */
  isOver: boolean;
  end(): void;
}

const turnsOf = perApp(() => ({ next: 0, entered: new Map<number, Entered>() }));

const enter = inOnePlace('lines/enter', (app, { key, place }: { key: string; place: number }) => {
  const turns = turnsOf(app);
  const turn = turns.next++;
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const entered: Entered = { place, isOver: false, end: () => {} };
  turns.entered.set(turn, entered);
  const hold = async (): Promise<void> => {
    if (entered.isOver) return;
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    entered.end = end;
    const timer = setTimeout(end, LONGEST_MS);
    resolve(turn);
    await ended;
    clearTimeout(timer);
  };
  const forget = (): boolean => turns.entered.delete(turn);
  linesOf(app).wait(key, hold).catch(reject).finally(forget);
  return promise;
});

const leave = inOnePlace('lines/leave', async (app, turn: number) => {
  turnsOf(app).entered.get(turn)?.end();
});

whenThreadEnds((app, place) => {
  for (const entered of turnsOf(app).entered.values()) {
    if (entered.place !== place) continue;
    entered.isOver = true;
    entered.end();
  }
});
