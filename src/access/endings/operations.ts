import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { addEnded, type EndedCounts } from '../../core/ended-counts.ts';
import { FewInTurn } from '../../core/fairness/few-in-turn.ts';
import { Lines } from '../../core/fairness/line.ts';
import type { Effect } from '../../store/write.ts';
import { goesFirst } from './precedence.operations.ts';

/**
 * Commits a page of what a request ends before its own write set, with a record that says so. Should the request be
 * refused afterwards, its answer says what the pages have ended.
 */
export async function commitPage(
  app: App,
  caller: Caller,
  effects: readonly Effect[],
  ended: EndedCounts,
): Promise<void> {
  const { record } = caller;
  const outcome = { ...record.outcome, ending: true };
  const commit = () => app.commit({ ...caller, record: { ...record, outcome } }, effects);
  // Others wait for whoever goes first, and may hold the places meanwhile: it takes none.
  await (goesFirst(app.store) ? commit() : pagesInTurn(app).run(commit));
  addEnded(record.ended_before, ended);
}

/** A page is much work for the database: each network has one at a time, however much its requests end. */
const pagesInTurn = perApp(() => new FewInTurn(2));

/** The last write set ends less than a page of each kind: each network may have a few at once. */
const lastPagesInTurn = perApp(() => new FewInTurn(4));

/** Commits an ending, with what is left to end with it. */
export function commitEnd(app: App, commit: () => Promise<void>): Promise<void> {
  return goesFirst(app.store) ? commit() : lastPagesInTurn(app).run(commit);
}

const endingsOf = perApp(() => new Lines());

/** Whether what has a key is being ended: whoever comes for it now waits. */
export function isBeingEnded(app: App, key: string): boolean {
  return endingsOf(app).has(key);
}

/**
 * Ends something, or what stands on it, once nobody else is at that: whoever waited finds what is left of it, and
 * does not end the same page by page once more.
 *
 * @param run is told whether it had to wait, and checks again then whether it is there
 */
export function endInTurn<Result>(
  app: App,
  key: string,
  run: (hasWaited: boolean) => Promise<Result>,
): Promise<Result> {
  return endingsOf(app).wait(key, run);
}
