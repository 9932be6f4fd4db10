import { type App, perApp } from '../../app/app.ts';
import { inOnePlace, notedInOnePlace, oneForAll, whenThreadEnds } from '../../app/one-for-all.ts';
import type { Asker } from '../../core/fairness/asker.ts';
import { doShared } from '../../core/fairness/asking.ts';

/** Waits for a turn, and does the work in it. @throws Failure when the turn does not come; nothing was begun then */
export type TakeTurn<Kind> = <Result>(
  app: App,
  asker: Asker,
  kind: Kind,
  work: () => Promise<Result>,
) => Promise<Result>;

/** A turn of another thread, by the place of that and its own number there. */
interface Turn {
  place: number;
  number: number;
}

/** What waits for a turn, or has it. */
interface Held extends Turn {
  leave(): void;
  /** The asker has gone, or the thread that asked has ended. */
  gone(): void;
}

const heldOf = perApp(() => ({ next: 0, held: new Map<string, Held>() }));

const nameOf = ({ place, number }: Turn): string => `${place} ${number}`;

/** What has gone before its turn has come. */
const tellGone = notedInOnePlace('turns/gone', (app, turn: Turn) =>
  heldOf(app).held.get(nameOf(turn))?.gone(),
);

const tellLeft = notedInOnePlace('turns/left', (app, turn: Turn) =>
  heldOf(app).held.get(nameOf(turn))?.leave(),
);

whenThreadEnds((app, place) => {
  for (const held of heldOf(app).held.values()) {
    if (held.place !== place) continue;
    held.gone();
    held.leave();
  }
});

/**
 * Declares turns that all threads take among each other: who waits, waits in one place, and the work is done where it
 * was asked for. What a thread had or waited for that ends is the next one's.
 *
 * @param name the only ones of that name
 * @param kind of what the work is, as far as its turn goes by it; another thread can be told it
 */
export function turnsOfAll<Kind>(name: string, take: TakeTurn<Kind>): TakeTurn<Kind> {
  interface Entering {
    turn: Turn;
    asker: Asker;
    kind: Kind;
  }
  const enter = inOnePlace(`turns/${name}`, (app, { turn, asker, kind }: Entering) =>
    hold(app, turn, (onGone, work) => take(app, { ...asker, onGone }, kind, work)),
  );
  return async (app, asker, kind, work) => {
    const { ask, place = 0 } = oneForAll(app);
    if (!ask) return take(app, asker, kind, work);
    const turn = { place, number: heldOf(app).next++ };
    const { onGone, ...told } = asker;
    const forget = onGone?.(() => tellGone(app, turn));
    await enter(app, { turn, asker: told, kind }).finally(() => forget?.());
    try {
      return await doShared(work);
    } finally {
      tellLeft(app, turn);
    }
  };
}

/** Resolves once the turn has come, which lasts until it is left. */
function hold(
  app: App,
  turn: Turn,
  take: (onGone: Asker['onGone'], work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const { held } = heldOf(app);
  const come = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const listeners = new Set<() => void>();
  const own: Held = {
    ...turn,
    leave: left.resolve,
    gone: () => {
      for (const listener of listeners) listener();
    },
  };
  held.set(nameOf(turn), own);
  const onGone = (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const work = (): Promise<void> => {
    come.resolve();
    return left.promise;
  };
  take(onGone, work)
    .catch(come.reject)
    .finally(() => {
      // By then the next thread at the same place may have one of the same name.
      if (held.get(nameOf(turn)) === own) held.delete(nameOf(turn));
    });
  return come.promise;
}
