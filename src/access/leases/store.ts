import { type Expression, sql } from 'kysely';
import { LAST, type Lease } from '../../app/lease.ts';
import { build, type Db, prepared, preparedWrite } from '../../store/database.ts';
import { inBlocks } from '../../store/in-blocks.ts';
import type { LeaseRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { listDead } from '../tokens/line.store.ts';

// A lease is alive until its time is over, or the token it is bound to or its mount is dead. What is
// left of a dead token is removed in pages: that takes `token_id` away, and the lease is due.

const byId = prepared((sql, p: { id: string }) =>
  sql.selectFrom('lease').selectAll().where('id', '=', p.id),
);

/** A lease, dead ones included. */
export async function findLease(db: Db, id: string): Promise<Lease | undefined> {
  const row = await byId.first(db, { id });
  return row && leaseOf(row);
}

/** A lease whose time is not over, and whose token and mount are alive. */
export async function findLivingLease(db: Db, id: string, now: number): Promise<Lease | undefined> {
  const row = await byId.first(db, { id });
  return row && (await listLiving(db, [row], now)).length > 0 ? leaseOf(row) : undefined;
}

/** Those of some leases that are alive: what they hang on may be dead, and not removed yet. */
async function listLiving<Row extends Hung>(
  db: Db,
  leases: readonly Row[],
  now: number,
): Promise<Row[]> {
  const unexpired = leases.filter(({ expires_at }) => expires_at > now);
  const tokens = unexpired.flatMap(({ token_id }) => token_id ?? []);
  const mounts = unexpired.flatMap(({ mount_id }) => (mount_id === '' ? [] : [mount_id]));
  const [dead, there] = await Promise.all([
    listDead(db, [...new Set(tokens)], now),
    listMountsThere(db, [...new Set(mounts)]),
  ]);
  return unexpired.filter(({ bound, token_id, alias_id, mount_id }) => {
    if (mount_id !== '' && !there.has(mount_id)) return false;
    return token_id === null ? bound === 0 || alias_id !== null : !dead.has(token_id);
  });
}

type Hung = Pick<LeaseRow, 'bound' | 'token_id' | 'alias_id' | 'mount_id' | 'expires_at'>;

async function listMountsThere(db: Db, ids: readonly string[]): Promise<Set<string>> {
  const rows = await inBlocks(ids, (some) =>
    db.selectFrom('mount').select('id').where('id', 'in', some).execute(),
  );
  return new Set(rows.map(({ id }) => id));
}

/** Whether what a lease stands for can be there: it goes with its mount. */
export async function hasMount(db: Db, { mount_id }: Pick<Lease, 'mount_id'>): Promise<boolean> {
  return mount_id === '' || (await listMountsThere(db, [mount_id])).size > 0;
}

/** Refuses the set when the token it is bound to is gone, so nothing is given to a revoked one. */
export function insertLease(lease: Lease): Write {
  const row: LeaseRow = {
    id: lease.id,
    bound: (lease.token_id ?? lease.alias_id) === undefined ? 0 : 1,
    token_id: lease.token_id ?? null,
    alias_id: lease.alias_id ?? null,
    source_id: lease.source_id ?? null,
    mount_id: lease.mount_id,
    kind: lease.kind,
    data: JSON.stringify(lease.data),
    issued_at: lease.issued_at,
    expires_at: lease.expires_at,
    renewable: lease.renewable ? 1 : 0,
    renewed_at: lease.renewed_at ?? null,
    turn: null,
  };
  return write(build.insertInto('lease').values(row), {
    rows: 1,
    conflict: 'the token was revoked in the meantime',
  });
}

/** Refuses the set of everybody but the first who ends the lease. */
export const deleteLease: (parameters: { id: string }) => Write = preparedWrite<{ id: string }>(
  (sql, { id }) => sql.deleteFrom('lease').where('id', '=', id),
  { rows: 1, conflict: 'the lease was ended in the meantime' },
);

/** Makes leases due: they are dead at once, and what they stand for is ended by the job. */
export function expireLeases(ids: readonly string[], now: number): Write {
  const due = build.updateTable('lease').set({ expires_at: now });
  return write(due.where('id', 'in', ids).where('expires_at', '>', now));
}

/** As {@link expireLeases}, for all ids with `from` ≤ id < `to`. */
export function expireRange(range: { from: string; to: string }, now: number): Write {
  const due = build.updateTable('lease').set({ expires_at: now }).where('expires_at', '>', now);
  return write(due.where('id', '>=', range.from).where('id', '<', range.to));
}

export function expireLeasesOfMount(mount_id: string, now: number): Write {
  const due = build.updateTable('lease').set({ expires_at: now }).where('expires_at', '>', now);
  return write(due.where('mount_id', '=', mount_id));
}

/** Ids of leases of a mount whose time is not over. */
export async function listUnexpiredOfMount(
  db: Db,
  mount_id: string,
  { now, limit }: { now: number; limit: number },
): Promise<string[]> {
  const of = db.selectFrom('lease').select('id').where('mount_id', '=', mount_id);
  return (await of.where('expires_at', '>', now).limit(limit).execute()).map(({ id }) => id);
}

/** The id that stands so far on in a range; undefined when there are fewer. */
export async function findNthInRange(
  db: Db,
  range: IdRange,
  nth: number,
): Promise<string | undefined> {
  const ids = between(db, '>=', { ...range, limit: 1 }).select('id');
  return (await ids.offset(nth - 1).executeTakeFirst())?.id;
}

/** They are due, and ended in the turns of the log-ins' alias. */
const LOOSE = { turn: sql<string>`alias_id`, alias_id: null };

/** The leases of some log-ins by batch tokens are due: whoever came by these aliases is nobody. */
export function loosenLeases(alias_ids: Expression<string>): Write {
  const loose = build.updateTable('lease').set(LOOSE);
  return write(loose.where('alias_id', 'is not', null).where('alias_id', 'in', alias_ids));
}

/** Ids of leases of log-ins by some aliases, so many at most. */
export async function listLeasesOfAliases(
  db: Db,
  alias_ids: readonly string[] | Expression<string>,
  limit: number,
): Promise<string[]> {
  const of = db.selectFrom('lease').select('id').where('alias_id', 'is not', null);
  const some = of.where('alias_id', 'in', alias_ids).limit(limit);
  return (await some.execute()).map(({ id }) => id);
}

/** Ids of leases that hang on some tokens, so many at most. */
export async function listLeasesOfTokens(
  db: Db,
  token_ids: readonly string[],
  limit: number,
): Promise<string[]> {
  const of = db.selectFrom('lease').select('id').where('token_id', 'is not', null);
  const some = of.where('token_id', 'in', token_ids).limit(limit);
  return (await some.execute()).map(({ id }) => id);
}

/** As {@link loosenLeases}, of some leases. */
export function loosenSome(ids: readonly string[]): Write {
  return write(build.updateTable('lease').set(LOOSE).where('id', 'in', ids));
}

/** Ids with `from` ≤ id < `to`. */
export interface IdRange {
  from: string;
  to: string;
}

/** Where a page of a range begins. */
interface RangePage {
  /** The last id of the page before, which lies in the range; empty at the start. */
  after: string;
  limit: number;
}

type Bounds = { from: string; to: string; limit: number };

/**
 * One bound from below: given two, SQLite begins at the first of them and steps over all that was
 * read before, again for each page.
 */
const between = (db: Pick<Db, 'selectFrom'>, from: '>=' | '>', p: Bounds) =>
  db
    .selectFrom('lease')
    .where('id', from, p.from)
    .where('id', '<', p.to)
    .orderBy('id')
    .limit(p.limit);

const beneath = (db: Db, range: IdRange, { after, limit }: RangePage) =>
  after === ''
    ? between(db, '>=', { ...range, limit })
    : between(db, '>', { from: after, to: range.to, limit });

const firstInRange = prepared((sql, p: Bounds) => between(sql, '>=', p).selectAll());
const nextInRange = prepared((sql, p: Bounds) => between(sql, '>', p).selectAll());

/**
 * Leases of a range of ids, dead ones included, in order of their ids, after `after`. Fewer than a page where
 * they are long, since what another server calls a lease may be; none at the end.
 */
export async function listRange(
  db: Db,
  range: IdRange,
  { after, limit }: RangePage,
): Promise<Lease[]> {
  const { rows } =
    after === ''
      ? await firstInRange.some(db, { ...range, limit }, 'data')
      : await nextInRange.some(db, { from: after, to: range.to, limit }, 'data');
  return rows.map(leaseOf);
}

/** The ids of such a page, each with whether the lease is alive. */
export async function listIdsInRange(
  db: Db,
  range: IdRange,
  { now, ...page }: RangePage & { now: number },
): Promise<{ id: string; is_living: boolean }[]> {
  const columns = ['id', 'bound', 'token_id', 'alias_id', 'mount_id', 'expires_at'] as const;
  const rows = await beneath(db, range, page).select(columns).execute();
  const living = new Set(await listLiving(db, rows, now));
  return rows.map((row) => ({ id: row.id, is_living: living.has(row) }));
}

/** Leases that are counted by one statement. */
const COUNTED = 5_000;

/** How many leases are alive, by mount: counted some at a time, others have their turn meanwhile. */
export async function countLeases(
  db: Db,
  now: number,
): Promise<{ mount_id: string; count: number }[]> {
  const counts = new Map<string, number>();
  for (let after = ''; ; ) {
    const last = await findNth(db, after, COUNTED);
    for (const row of await countBetween(db, { after, last }, now)) {
      counts.set(row.mount_id, (counts.get(row.mount_id) ?? 0) + Number(row.count));
    }
    if (last === undefined) break;
    after = last;
  }
  return [...counts].map(([mount_id, count]) => ({ mount_id, count }));
}

/** The id that stands so far after another; undefined when there are fewer. */
async function findNth(db: Db, after: string, nth: number): Promise<string | undefined> {
  const ids = db.selectFrom('lease').select('id').where('id', '>', after).orderBy('id');
  return (
    await ids
      .limit(1)
      .offset(nth - 1)
      .executeTakeFirst()
  )?.id;
}

async function countBetween(
  db: Db,
  { after, last }: { after: string; last: string | undefined },
  now: number,
): Promise<{ mount_id: string; count: number }[]> {
  // Two bounds, also at the end: with one SQLite goes through the leases of each mount instead.
  return db
    .selectFrom('lease')
    .select((row) => ['mount_id', row.fn.countAll<number>().as('count')])
    .where('id', '>', after)
    .where('id', '<=', last ?? LAST)
    .where('expires_at', '>', now)
    .where((row) =>
      row.or([
        row('bound', '=', 0),
        row('token_id', 'is not', null),
        row('alias_id', 'is not', null),
      ]),
    )
    .groupBy('mount_id')
    .execute();
}

export function leaseOf(row: LeaseRow): Lease {
  return {
    id: row.id,
    token_id: row.token_id ?? undefined,
    ...(row.alias_id === null ? {} : { alias_id: row.alias_id }),
    ...(row.source_id === null ? {} : { source_id: row.source_id }),
    mount_id: row.mount_id,
    kind: row.kind,
    data: JSON.parse(row.data),
    issued_at: row.issued_at,
    expires_at: row.expires_at,
    renewed_at: row.renewed_at ?? undefined,
    renewable: row.renewable === 1,
  };
}
