import { type Db, prepared } from '../../../store/database.ts';
import { preparedForIds } from '../../resource/by-ids.store.ts';
import type { Member } from '../../sessions/endpoint.ts';
import type { SetSize } from './draw.ts';

// The hosts of a target are those of its host sets, of which each may have thousands: what is wanted
// of them is asked for, and they are never all read.

const first = prepared<{ target_id: string; limit: number }, Member>((from, { target_id, limit }) =>
  from
    .selectFrom('resource_link as source')
    .innerJoin('resource_link as member', 'member.from_id', 'source.to_id')
    .select(['member.to_id as host_id', 'member.from_id as host_set_id'])
    .where('source.from_id', '=', target_id)
    .where('source.kind', '=', 'target-host-source')
    .where('member.kind', '=', 'host-set-host')
    .limit(limit),
);

/** Some of the hosts of a target's sets, one for each set that it is in; all of them where they are fewer. */
export function listSomeMembers(db: Db, target_id: string, limit: number): Promise<Member[]> {
  return first.all(db, { target_id, limit });
}

const sizes = prepared<{ host_set_id: string }, { size: number | string }>(
  (from, { host_set_id }) =>
    from
      .selectFrom('resource_link')
      .select((row) => row.fn.countAll().as('size'))
      .where('from_id', '=', host_set_id)
      .where('kind', '=', 'host-set-host'),
);

/** One set a question: a set may have thousands of hosts, and others have their turn between two. */
export async function listSizes(db: Db, host_set_ids: readonly string[]): Promise<SetSize[]> {
  const found: SetSize[] = [];
  for (const host_set_id of host_set_ids) {
    const row = await sizes.first(db, { host_set_id });
    found.push({ host_set_id, size: Number(row?.size ?? 0) });
  }
  return found;
}

const nth = prepared<{ host_set_id: string; at: number }, { to_id: string }>(
  (from, { host_set_id, at }) =>
    from
      .selectFrom('resource_link')
      .select('to_id')
      .where('from_id', '=', host_set_id)
      .where('kind', '=', 'host-set-host')
      .orderBy('to_id')
      .limit(1)
      .offset(at),
);

/** A host of a set by its number in the order of ids, from 0 on. */
export async function findHostAt(
  db: Db,
  host_set_id: string,
  at: number,
): Promise<string | undefined> {
  return (await nth.first(db, { host_set_id, at }))?.to_id;
}

const having = preparedForIds<{ host_id: string }, { from_id: string }>((from, ids, { host_id }) =>
  from
    .selectFrom('resource_link')
    .select('from_id')
    .where('from_id', 'in', ids)
    .where('kind', '=', 'host-set-host')
    .where('to_id', '=', host_id),
);

/** Those of some sets that a host is in. */
export async function listSetsWith(
  db: Db,
  host_set_ids: readonly string[],
  host_id: string,
): Promise<string[]> {
  const rows = await having(db, host_set_ids, { host_id });
  return rows.map(({ from_id }) => from_id);
}
