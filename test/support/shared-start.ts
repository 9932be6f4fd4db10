import { after } from 'node:test';
import type { Place } from './engines.ts';

export type Scope = { after(stop: () => void | Promise<void>): void };

/** What is started once, by the first test of a suite that asks for it, and stopped after all of them. */
export function sharedStart<Started>(
  newPlace: () => Promise<Place>,
  start: (scope: Scope, place: Place) => Promise<Started>,
): () => Promise<Started> {
  const stops: (() => void | Promise<void>)[] = [];
  let started: Promise<Started> | undefined;
  after(async () => {
    for (const stop of stops.reverse()) await stop();
  });
  return () => {
    started ??= newPlace().then((place) => start({ after: (stop) => stops.push(stop) }, place));
    return started;
  };
}
