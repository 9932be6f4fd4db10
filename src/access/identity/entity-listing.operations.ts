import type { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { DataResult } from '../../app/output.ts';
import { listThings, listTold } from '../../core/key-list.ts';
import { countAliases, listAliasNames } from './aliases.store.ts';
import { listEntityNames } from './entities.store.ts';
import { type EntityInfo, nameAlias, type namesSchema, type Told } from './entity.ts';
import type { Named } from './names.store.ts';
import { readAliasMounts } from './operations.ts';

/** Aliases that are told of at once, but for one entity that has more. */
const TOLD = 500;

/** Ids with what they are called, so that a list can be read by people. What others say of aliases is told of each alone. */
export async function listEntityIds(app: App): Promise<DataResult<Told<EntityInfo>>> {
  const mounts = await readAliasMounts(app);
  const read = (last: Named | undefined): Promise<Named[]> => listEntityNames(app.db, last);
  return listTold({ read, keyOf: ({ id }) => id }, async function* (some) {
    const counts = await countAliases(
      app.db,
      some.map(({ id }) => id),
    );
    for (const few of splitByCount(some, ({ id }) => counts.get(id) ?? 0)) {
      const aliases = await listAliasNames(
        app.db,
        few.map(({ id }) => id),
      );
      const of = Map.groupBy(aliases, (alias) => alias.entity_id);
      const named = (id: string) =>
        (of.get(id) ?? []).map((alias) => nameAlias(alias, mounts.get(alias.mount_accessor)));
      yield Object.fromEntries(few.map(({ id, name }) => [id, { name, aliases: named(id) }]));
    }
  });
}

/** In their order, as many together as have {@link TOLD} in all. */
function splitByCount<One>(all: readonly One[], countOf: (one: One) => number): One[][] {
  const split: One[][] = [];
  let count = Number.POSITIVE_INFINITY;
  for (const one of all) {
    count += countOf(one);
    if (count > TOLD) {
      split.push([]);
      count = countOf(one);
    }
    split.at(-1)?.push(one);
  }
  return split;
}

export async function listNamesOfEntities(
  app: App,
): Promise<DataResult<z.output<typeof namesSchema>>> {
  const read = (last: Named | undefined): Promise<Named[]> => listEntityNames(app.db, last);
  return listThings({ read, keyOf: ({ name }) => name });
}
