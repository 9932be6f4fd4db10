import type { App } from '../../../app/app.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import type { ResourceTypeName } from '../types.ts';
import { listRemovedIn, type RemovalRange, type Removed } from './removals.store.ts';
import { ListTokenFailure } from './token.ts';

/** So many are named in a refresh of a list; who missed more lists anew, which is not more to read. */
export const MOST_NAMED = 10_000;

/** Where one looks for what was removed. */
export interface RemovalSight {
  /** Every container that is listed, whatever is seen of it. */
  listed: ReadonlySet<string>;
  /** Those scopes of a recursive list in which others lie, or lay. */
  outer: readonly string[];
  /** Whether things in a scope that is gone were listed, too. */
  listedIn(scope_id: string, parent_scope_id: string): boolean;
}

/**
 * What went since an earlier list, out of what was listed: also with a scope that went whole.
 *
 * @throws ListTokenFailure where that is too much to name
 */
export async function nameRemoved(
  app: App,
  type: ResourceTypeName,
  range: RemovalRange,
  { listed, outer, listedIn }: RemovalSight,
): Promise<string[]> {
  const gone: string[] = [];
  // Those in a scope that is gone come after it.
  for (let places = outer; places.length > 0; ) {
    const orgs: string[] = [];
    for (const { id, container_id } of await readRemoved(app, 'scope', range, places)) {
      if (listedIn(id, container_id)) gone.push(id);
      if (container_id === 'global') orgs.push(id);
    }
    places = orgs;
  }
  const removed = await readRemoved(app, type, range, [...listed, ...gone]);
  return removed.sort((a, b) => a.seq - b.seq || (a.id < b.id ? -1 : 1)).map(({ id }) => id);
}

async function readRemoved(
  app: App,
  type: ResourceTypeName,
  range: RemovalRange,
  containers: readonly string[],
): Promise<Removed[]> {
  const found: Removed[] = [];
  const breath = new Breath();
  for await (const page of listRemovedIn(app.db, type, range, containers)) {
    for (const one of page) found.push(one);
    if (found.length > MOST_NAMED) {
      throw new ListTokenFailure(
        `more than ${MOST_NAMED} things were removed since the list token was issued`,
      );
    }
    await breath.take();
  }
  return found;
}
