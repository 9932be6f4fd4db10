import type { App } from '../../app/app.ts';
import { invalid } from '../../core/failure.ts';
import { jsonBytes } from '../../core/kept.ts';
import { readAliases } from './aliases.store.ts';
import { findEntityById } from './entities.store.ts';
import { readGroupsById } from './groups.store.ts';
import { withGroupsOf } from './memberships.operations.ts';
import { readAliasMounts } from './operations.ts';

/** Aliases, or groups, that are told of somebody, and bytes of all of them. */
const MOST_TOLD = 1_000;
const MOST_BYTES = 1 << 20;

/** An entity as a service of somebody else is told of it. */
interface ToldEntity {
  id: string;
  name: string;
  disabled: boolean;
  metadata: Readonly<Record<string, string>>;
  aliases: readonly {
    id: string;
    name: string;
    mount_accessor: string;
    mount_type: string;
    metadata: Readonly<Record<string, string>>;
  }[];
}

interface ToldGroup {
  id: string;
  name: string;
  type: string;
  metadata: Readonly<Record<string, string>>;
}

/**
 * All that is known of an entity but its policies; undefined where it is gone.
 *
 * @throws Failure `invalid` for more than is told
 */
export async function tellEntity(app: App, id: string): Promise<ToldEntity | undefined> {
  const entity = await findEntityById(app.db, id);
  if (!entity) return undefined;
  const mounts = await readAliasMounts(app);
  const aliases = await takeSome(readAliases(app.db, id), (alias) => ({
    id: alias.id,
    name: alias.name,
    mount_accessor: alias.mount_accessor,
    mount_type: mounts.get(alias.mount_accessor)?.type ?? '',
    metadata: alias.custom_metadata,
  }));
  const { name, disabled, metadata } = entity;
  return { id, name, disabled, metadata, aliases };
}

/** The groups that an entity is in, and those above, but for their policies; as {@link tellEntity}. */
export function tellGroups(app: App, id: string): Promise<ToldGroup[]> {
  return withGroupsOf(app, { id, kind: 'entity' }, ({ direct, above }) => {
    const ids = [...new Set([...direct, ...above])];
    if (ids.length > MOST_TOLD) throw tooMuch();
    return takeSome(readGroupsById(app.db, ids), ({ id: group, name, type, metadata }) => ({
      id: group,
      name,
      type,
      metadata,
    }));
  });
}

async function takeSome<Item, Told>(
  items: AsyncIterable<Item>,
  tell: (item: Item) => Told,
): Promise<Told[]> {
  const told: Told[] = [];
  let bytes = 0;
  for await (const item of items) {
    const one = tell(item);
    bytes += jsonBytes(one);
    if (told.length === MOST_TOLD || bytes > MOST_BYTES) throw tooMuch();
    told.push(one);
  }
  return told;
}

const tooMuch = () =>
  invalid(
    `the caller's entity has more than ${MOST_TOLD} aliases or groups, or ${MOST_BYTES} bytes of them, which are not told to an external policy service`,
  );
