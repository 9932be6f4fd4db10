import {
  listRemovedIn,
  type RemovalRange,
  type Removed,
} from '../../src/broker/resource/lists/removals.store.ts';
import type { ResourceTypeName } from '../../src/broker/resource/types.ts';
import type { Db } from '../../src/store/database.ts';

/** Ids of what was removed in some containers, in their order. */
export async function listRemovedIds(
  db: Db,
  type: ResourceTypeName,
  range: RemovalRange,
  containers: readonly string[],
): Promise<string[]> {
  const found: Removed[] = [];
  for await (const page of listRemovedIn(db, type, range, containers)) found.push(...page);
  return found.map(({ id }) => id).sort();
}
