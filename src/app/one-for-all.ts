import { type App, perApp } from './app.ts';

type Work = (app: App, argument: unknown) => Promise<unknown>;

/** What is done in one place, by its name. */
const works = new Map<string, Work>();
/** What a thread does that is told of something, by its name. */
const hearers = new Map<string, (app: App, told: unknown) => void>();

/** What is done once a thread that answers has ended. */
const endings = new Set<(app: App, place: number) => void>();

/** How threads reach each other; nothing of it is there where there is one thread. */
interface Reach {
  /** On a thread that answers: asks the one that does it for all. */
  ask?: (name: string, argument: unknown) => Promise<unknown>;
  /** There as well: tells it, and waits for nothing. */
  tell?: (name: string, told: unknown) => void;
  /** There as well: from 1, its place among them, which no other one has while it is there. */
  place?: number;
  /** On the one that supervises: tells all that answer. What is told before something is answered is heard before that. */
  tellAll?: (name: string, told: unknown) => void;
}

export const oneForAll = perApp<Reach>(() => ({}));

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

/**
 * Declares what is noted in one place, as {@link inOnePlace}, where nobody waits for it.
 *
 * @returns has it noted there, wherever it is called
 */
export function notedInOnePlace<Told>(
  name: string,
  note: (app: App, told: Told) => void,
): (app: App, told: Told) => void {
  declareHearer(name, note);
  return (app, told) => {
    const { tell } = oneForAll(app);
    if (tell) tell(name, told);
    else note(app, told);
  };
}

/**
 * Declares what the threads that answer are told by the one that supervises.
 *
 * @returns tells all of them; where there are none, nobody
 */
export function heardOnThreads<Told>(
  name: string,
  hear: (app: App, told: Told) => void,
): (app: App, told: Told) => void {
  declareHearer(name, hear);
  return (app, told) => oneForAll(app).tellAll?.(name, told);
}

function declareHearer<Told>(name: string, hear: (app: App, told: Told) => void): void {
  if (hearers.has(name)) throw new TypeError(`${name} is heard in two ways`);
  hearers.set(name, (app, told) => hear(app, told as Told));
}

/** Hears what another thread has told. */
export function hearFromOthers(app: App, name: string, told: unknown): void {
  const hear = hearers.get(name);
  if (!hear) throw new TypeError(`nobody hears ${name}`);
  hear(app, told);
}

/** Declares what is done on the one that supervises once a thread that answers has ended, by the place that it had. */
export function whenThreadEnds(listener: (app: App, place: number) => void): void {
  endings.add(listener);
}

/** Does what is to be done once a thread has ended, before another one has its place. */
export function noteEnd(app: App, place: number): void {
  for (const listener of endings) listener(app, place);
}
