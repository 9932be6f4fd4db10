import { sql } from 'kysely';
import { aside } from '../../../store/aside.ts';
import { countSome } from '../../../store/count-some.ts';
import { build, compiled, type Db, prepared } from '../../../store/database.ts';
import { compareIds, inBlocks } from '../../../store/in-blocks.ts';
import { namedIn } from '../../../store/named-in.ts';
import { type Write, write } from '../../../store/write.ts';
import { IDS_AT_ONCE, inPieces } from '../by-ids.store.ts';

// What binds two resources: a row for each link, which goes with either of them.

const linksFrom = prepared<{ from_id: string; kind: string }, { to_id: string }>(
  (from, { from_id, kind }) =>
    from
      .selectFrom('resource_link')
      .select('to_id')
      .where('from_id', '=', from_id)
      .where('kind', '=', kind)
      .orderBy('to_id'),
);

/** Ids that a resource refers to, in byte order. */
export async function listLinksFrom(db: Db, from_id: string, kind: LinkKind): Promise<string[]> {
  return (await linksFrom.all(db, { from_id, kind })).map((row) => row.to_id);
}

/** How many links of a kind a resource has; more than `most` are not counted. */
export const countLinksFrom = countSome('resource_link', ['from_id', 'kind']);

const someLinksFrom = prepared<
  { from_id: string; kind: string; after: string; limit: number },
  { to_id: string }
>((from, { from_id, kind, after, limit }) =>
  from
    .selectFrom('resource_link')
    .select('to_id')
    .where('from_id', '=', from_id)
    .where('kind', '=', kind)
    .where('to_id', '>', after)
    .orderBy('to_id')
    .limit(limit),
);

/** The next of the ids that a resource refers to, after one of them. */
export async function listSomeLinksFrom(
  db: Db,
  { from_id, kind }: { from_id: string; kind: LinkKind },
  page: { after: string; limit: number },
): Promise<string[]> {
  return (await someLinksFrom.all(db, { from_id, kind, ...page })).map((row) => row.to_id);
}

/** Links of some kinds from many resources at once. */
export async function listLinksOfAll(
  db: Db,
  from_ids: readonly string[],
  kinds: readonly LinkKind[],
): Promise<{ from_id: string; kind: string; to_id: string }[]> {
  return inBlocks(
    [...new Set(from_ids)],
    (some) =>
      db
        .selectFrom('resource_link')
        .selectAll()
        .where('from_id', 'in', some)
        .where('kind', 'in', kinds)
        .orderBy('to_id')
        .execute(),
    (a, b) => compareIds(a.to_id, b.to_id),
  );
}

/** Links of one kind to many resources at once. */
export async function listLinksToAll(
  db: Db,
  to_ids: readonly string[],
  kind: LinkKind,
): Promise<{ from_id: string; to_id: string }[]> {
  return inBlocks(
    [...new Set(to_ids)],
    (some) =>
      db
        .selectFrom('resource_link')
        .select(['from_id', 'to_id'])
        .where('to_id', 'in', some)
        .where('kind', '=', kind)
        .orderBy('from_id')
        .execute(),
    (a, b) => compareIds(a.from_id, b.from_id),
  );
}

/** What one resource can be to another. */
export type LinkKind =
  | 'group-member'
  | 'role-principal'
  | 'host-set-host'
  | 'target-host-source'
  | 'target-brokered'
  | 'target-injected'
  | 'target-storage-bucket'
  | 'scope-storage-policy'
  | 'alias-destination'
  | 'log-in-account';

/** Links of one kind from one resource. */
interface Links {
  from_id: string;
  kind: LinkKind;
  to_ids: readonly string[];
}

/** What a link must lead into; absent: anywhere. */
interface Inside {
  scope_id?: string;
  container_id?: string;
}

/** Links a resource to others, each as {@link insertLink} does. @param links.to_ids each named once */
export function insertLinks(links: Links, inside: Inside = {}): Write[] {
  const { length } = links.to_ids;
  if (length === 0) return [];
  return [length > IDS_AT_ONCE ? insertMany(links, inside) : insertSome(links, inside)];
}

/** Takes links of a resource away, each of which must be there. */
export function deleteLinks({ from_id, kind, to_ids }: Links): Write[] {
  const { length: rows } = to_ids;
  if (rows === 0) return [];
  const links = build
    .deleteFrom('resource_link')
    .where('from_id', '=', from_id)
    .where('kind', '=', kind);
  const named =
    rows > IDS_AT_ONCE
      ? // No join, whose order PostgreSQL would choose by how many links it takes there to be: the ids
        // become a table, in which each link of the resource is looked up.
        links.where(sql<boolean>`(to_id in ${namedIn(to_ids)}) is true`)
      : links.where('to_id', 'in', to_ids);
  return [write(named, { rows })];
}

/**
 * Links two resources, if the one referred to is still there and where it is expected to be.
 *
 * @param inside the container or scope that the other must lie in
 */
export function insertLink(
  { to_id, ...link }: { from_id: string; kind: LinkKind; to_id: string },
  inside: Inside = {},
): Write {
  return insertSome({ ...link, to_ids: [to_id] }, inside);
}

function insertSome(link: Links, inside: Inside): Write {
  let there = build
    .selectFrom('resource')
    .where('id', 'in', link.to_ids)
    .select((row) => [
      row.val(link.from_id).as('from_id'),
      row.val(link.kind).as('kind'),
      row.ref('resource.id').as('to_id'),
    ]);
  if (inside.scope_id !== undefined) there = there.where('scope_id', '=', inside.scope_id);
  if (inside.container_id !== undefined) {
    there = there.where('container_id', '=', inside.container_id);
  }
  return write(
    build.insertInto('resource_link').columns(['from_id', 'kind', 'to_id']).expression(there),
    { rows: link.to_ids.length },
  );
}

/** As {@link insertSome}: each is looked up by its key, however many PostgreSQL takes to be named. */
function insertMany({ from_id, kind, to_ids }: Links, inside: Inside): Write {
  let found = build
    .selectFrom('resource')
    .select('resource.id')
    .where('resource.id', '=', sql.ref<string>('named.key'));
  if (inside.scope_id !== undefined) found = found.where(aside('scope_id'), '=', inside.scope_id);
  if (inside.container_id !== undefined) {
    found = found.where(aside('container_id'), '=', inside.container_id);
  }
  const there = sql`select ${from_id}, ${kind}, named.key
    from ${namedIn(to_ids)} as named where (${found}) is not null`;
  const insert = sql`insert into resource_link (from_id, kind, to_id) ${there}`;
  return write(compiled(insert), { rows: to_ids.length });
}

export function deleteLink(link: { from_id: string; kind: LinkKind; to_id: string }): Write {
  return write(
    build
      .deleteFrom('resource_link')
      .where('from_id', '=', link.from_id)
      .where('kind', '=', link.kind)
      .where('to_id', '=', link.to_id),
    { rows: 1 },
  );
}

export function deleteLinksFrom(from_id: string, kind: LinkKind): Write {
  return write(
    build.deleteFrom('resource_link').where('from_id', '=', from_id).where('kind', '=', kind),
  );
}

/**
 * Refuses its write set, which has added links to some resources, when one of them has more of the kind than it
 * may. Whoever adds others waits here, and counts what this set has added.
 */
export function holdLinksTo(
  to_ids: readonly string[],
  { kind, most, conflict }: { kind: LinkKind; most: number; conflict: string },
): Write[] {
  const holds: Write[] = [];
  const ids = [...to_ids].sort();
  for (const some of inPieces(ids)) {
    const linked = build.selectFrom('resource').select('id').where('id', 'in', some);
    holds.push(write(linked.orderBy('id').forNoKeyUpdate()));
  }
  for (const some of inPieces(ids)) {
    holds.push(write(linkedBeyond(some, { kind, most }), { rows: 0, conflict }));
  }
  return holds;
}

/**
 * Whether one of some resources can have no more links of a kind to it: asked before anything is written.
 *
 * @param giveWay lets others have their turn between some and the next ones
 */
export async function haveAllLinksTo(
  db: Db,
  to_ids: readonly string[],
  { kind, most }: { kind: LinkKind; most: number },
  giveWay: () => Promise<void>,
): Promise<boolean> {
  for (const some of inPieces(to_ids)) {
    await giveWay();
    const full = linkedBeyond(some, { kind, most: most - 1 }).limit(1);
    if ((await db.executeQuery(full)).rows.length > 0) return true;
  }
  return false;
}

function linkedBeyond(to_ids: readonly string[], { kind, most }: { kind: LinkKind; most: number }) {
  return build
    .selectFrom('resource_link')
    .select('to_id')
    .where('to_id', 'in', to_ids)
    .where('kind', '=', kind)
    .groupBy('to_id')
    .having((row) => row(row.fn.countAll(), '>', most));
}

const someTo = prepared<{ to_id: string; kind: string; limit: number }, { from_id: string }>(
  (from, { to_id, kind, limit }) =>
    from
      .selectFrom('resource_link')
      .select('from_id')
      .where('to_id', '=', to_id)
      .where('kind', '=', kind)
      .limit(limit),
);

/** Whether a resource has as many links of a kind to it. */
export async function hasLinksTo(
  db: Db,
  to_id: string,
  { kind, most }: { kind: LinkKind; most: number },
): Promise<boolean> {
  return (await someTo.all(db, { to_id, kind, limit: most })).length === most;
}
