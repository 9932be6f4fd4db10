import { type App, perApp } from './app.ts';

type Work = (app: App, argument: unknown) => Promise<unknown>;

/** What is done in one place, by its name. */
const works = new Map<string, Work>();

/** On a thread that answers: asks the one that does it for all. Absent there, and where there is one thread. */
export const oneForAll = perApp<{
  ask?: (name: string, argument: unknown) => Promise<unknown>;
}>(() => ({}));

/**
 * Declares work that is done in one place, however many threads answer: what it keeps in memory is there once.
 *
 * @param name the only one of that name; what is asked and answered can be handed to another thread
 * @returns does it there, wherever it is called
 */
export function inOnePlace<Argument, Result>(
  name: string,
  work: (app: App, argument: Argument) => Promise<Result>,
): (app: App, argument: Argument) => Promise<Result> {
  if (works.has(name)) throw new TypeError(`${name} is done in two ways`);
  works.set(name, (app, argument) => work(app, argument as Argument));
  return (app, argument) => {
    const { ask } = oneForAll(app);
    return ask ? (ask(name, argument) as Promise<Result>) : work(app, argument);
  };
}

/** Does what another thread has asked for. */
export function doForOthers(app: App, name: string, argument: unknown): Promise<unknown> {
  const work = works.get(name);
  if (!work) throw new TypeError(`nobody does ${name}`);
  return work(app, argument);
}
