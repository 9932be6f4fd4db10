import { sql } from 'kysely';
import { build, type Db, prepared } from '../../../store/database.ts';
import { type Write, write } from '../../../store/write.ts';
import type { ResourceTypeName } from '../types.ts';

const sequence = prepared<Record<never, never>, { value: number }>((from) =>
  from.selectFrom('resource_sequence').select('value').where('name', '=', 'removed'),
);

/** The number of the last removal. */
export async function readRemovedSequence(db: Db): Promise<number> {
  return (await sequence.first(db, {}))?.value ?? 0;
}

/** Removals after one and up to another one. */
export interface RemovalRange {
  after: number;
  upTo: number;
}

/** Something that was removed. */
export interface Removed {
  id: string;
  container_id: string;
  seq: number;
}

/** Removals that are read before others get their turn. */
export const PAGE = 1_000;
/** Containers that one statement asks about. */
const AT_ONCE = 100;

const ofOne = prepared<
  {
    type: string;
    container_id: string;
    seq: number;
    id: string;
    upTo: number;
    limit: number;
  },
  Removed
>((from, p) =>
  from
    .selectFrom('resource_removed')
    .select(['id', 'container_id', 'seq'])
    .where('container_id', '=', p.container_id)
    .where('type', '=', p.type)
    .where((row) => row(row.refTuple('seq', 'id'), '>', row.tuple(row.val(p.seq), row.val(p.id))))
    .where('seq', '<=', p.upTo)
    .orderBy('seq')
    .orderBy('id')
    .limit(p.limit),
);

type OfSome = { type: string; after: number; upTo: number; limit: number } & Record<
  `id${number}`,
  string
>;

const slots = Array.from({ length: AT_ONCE }, (_, at) => `id${at}` as const);

/** In no order. Either engine begins with the containers: SQLite might walk the type otherwise. */
const ofSome = prepared<OfSome, Removed>((from, p) =>
  from
    .selectFrom(
      sql<{ column1: string }>`(values ${sql.join(slots.map((slot) => sql`(${p[slot]})`))})`.as(
        'wanted',
      ),
    )
    .crossJoin('resource_removed as gone')
    .select(['gone.id', 'gone.container_id', 'gone.seq'])
    .whereRef('gone.container_id', '=', 'wanted.column1')
    .where('gone.type', '=', p.type)
    .where('gone.seq', '>', p.after)
    .where('gone.seq', '<=', p.upTo)
    .limit(p.limit),
);

/**
 * What was removed of a type in some containers, at most {@link PAGE} at a time and in no order.
 *
 * @param containers each once
 */
export async function* listRemovedIn(
  db: Db,
  type: ResourceTypeName,
  { after, upTo }: RemovalRange,
  containers: readonly string[],
): AsyncGenerator<Removed[]> {
  if (after >= upTo) return;
  for (let at = 0; at < containers.length; at += AT_ONCE) {
    const some = containers.slice(at, at + AT_ONCE);
    const named = Object.fromEntries(slots.map((slot, n) => [slot, some[n] ?? '']));
    const page =
      some.length === 1
        ? undefined
        : await ofSome.all(db, { ...named, type, after, upTo, limit: PAGE });
    if (page && page.length < PAGE) {
      yield page;
      continue;
    }
    for (const container_id of some) yield* listOfOne(db, { type, container_id, after, upTo });
  }
}

async function* listOfOne(
  db: Db,
  { after, ...of }: RemovalRange & { type: string; container_id: string },
): AsyncGenerator<Removed[]> {
  // Nothing is sorted behind the first place after a number but what has a greater one.
  for (let last = { seq: after + 1, id: '' }; ; ) {
    const page = await ofOne.all(db, { ...of, ...last, limit: PAGE });
    yield page;
    const end = page.at(-1);
    if (!end || page.length < PAGE) return;
    last = { seq: end.seq, id: end.id };
  }
}

/** Whether anything was removed before an instant, and is remembered still. */
export async function hasRemovalsBefore(db: Db, before_ms: number): Promise<boolean> {
  const row = await db
    .selectFrom('resource_removed')
    .select('seq')
    .where('removed_ms', '<', before_ms)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Removals forgotten in one write set. */
const FORGOTTEN_AT_ONCE = 1000;

/** Forgets some of the removals before an instant. */
export function deleteRemovalsBefore(before_ms: number): Write {
  // One removal may have taken any number of things.
  const some = build
    .selectFrom('resource_removed')
    .select(['type', 'seq', 'id'])
    .where('removed_ms', '<', before_ms)
    .limit(FORGOTTEN_AT_ONCE);
  return write(
    build
      .deleteFrom('resource_removed')
      .where((row) =>
        row(row.refTuple('type', 'seq', 'id'), 'in', some.$asTuple('type', 'seq', 'id')),
      ),
  );
}
