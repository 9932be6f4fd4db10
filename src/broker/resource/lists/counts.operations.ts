import { setImmediate as nextTurn } from 'node:timers/promises';
import { type App, perApp } from '../../../app/app.ts';
import type { ResourceTypeName } from '../types.ts';
import { type CountedTo, countContained, countPage, PAGE } from './counts.store.ts';

/** As many are counted; where there are more, an estimate says so many. */
const MOST_COUNTED = 1_000_000;

/** A number is good for so long, in milliseconds. */
const LIFETIME_MS = 60_000;

interface Count {
  counted: Promise<number>;
  until_ms: number;
}

const countsOf = perApp(() => new Map<ResourceTypeName, Count>());

/**
 * About how many there are of a type: in the only container that is listed, up to a page of them, or in all.
 * What is counted page by page is counted once a minute, however many ask meanwhile.
 */
export async function estimate(
  app: App,
  type: ResourceTypeName,
  listed: ReadonlySet<string>,
): Promise<number> {
  const [only] = listed;
  if (only !== undefined && listed.size === 1) {
    const counted = await countContained(app.db, type, only);
    if (counted < PAGE) return counted;
  }
  const counts = countsOf(app);
  const known = counts.get(type);
  if (known && known.until_ms > app.now()) return known.counted;
  const { counted, next } = await countPage(app.db, type, BEGIN);
  if (!next) return counted;
  // Somebody else may have begun meanwhile.
  const begun = counts.get(type);
  if (begun && begun.until_ms > app.now()) return begun.counted;
  const all = countOn(app, type, next, counted);
  counts.set(type, { counted: all, until_ms: app.now() + LIFETIME_MS });
  all.catch(() => counts.delete(type));
  return all;
}

const BEGIN: CountedTo = { ms: -1, id: '' };

async function countOn(
  app: App,
  type: ResourceTypeName,
  from: CountedTo,
  before: number,
): Promise<number> {
  let sum = before;
  for (let next: CountedTo | undefined = from; next && sum < MOST_COUNTED; ) {
    await nextTurn();
    const page = await countPage(app.db, type, next);
    sum += page.counted;
    next = page.next;
  }
  return sum;
}
