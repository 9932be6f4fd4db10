import { holdAsRead } from '../../store/as-read.ts';
import { aside } from '../../store/aside.ts';
import { build } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import { type Write, write } from '../../store/write.ts';

// What a write set rests on of resources that it does not change.

/**
 * Refuses its write set unless a resource is there, and keeps it there until the set is durable:
 * what is put into it can then not outlive it.
 */
export function lockResource(id: string): Write {
  return hold({ id });
}

const hold = preparedHold<{ id: string }>(
  (from, { id }) => from.selectFrom('resource').select('id').where('id', '=', id).forKeyShare(),
  { rows: 1 },
);

/** As {@link lockResource}, and nobody changes it either: refused if it has another version. */
export function holdVersion({ id, version }: { id: string; version: number }): Write {
  return holdAsRead('resource', { key: { id }, read: { version } });
}

/** Refuses its write set unless some resources are there, and whose they are known to be. */
export function lockResources(ids: readonly string[], owner_id?: string): Write[] {
  if (ids.length === 0) return [];
  const some = build.selectFrom('resource').select('id').where('id', 'in', ids).orderBy('id');
  const held =
    owner_id === undefined
      ? some.forKeyShare()
      : some.where(aside('owner_id'), '=', owner_id).forShare();
  return [write(held, { rows: ids.length })];
}

/** Refuses its write set where another resource has the name by then. */
export const refuseTakenName = preparedHold<{
  id: string;
  type: string;
  container_id: string;
  name: string;
}>(
  (from, { id, type, container_id, name }) =>
    from
      .selectFrom('resource')
      .select('id')
      .where('container_id', '=', container_id)
      .where('type', '=', type)
      .where('name', '=', name)
      .where('id', '<>', id)
      .forKeyShare(),
  { rows: 0 },
);
