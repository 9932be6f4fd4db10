import { type RawBuilder, sql } from 'kysely';
import { compiled, type Db, preparedWrite } from '../../store/database.ts';
import { inBlocks } from '../../store/in-blocks.ts';
import { type Write, write } from '../../store/write.ts';
import { ENDED, ENDED_ALONE } from './ended.ts';

// What is left of tokens that are dead is removed from above: what hangs on them goes first, their
// children are cut off as dead tokens of their own, and they go last. Each statement touches as many
// rows as it is told, whatever there is: a foreign key finds nothing more to do.

/** Where a page of dead tokens ended. */
interface DeadCursor {
  expires_at: number;
  id: string;
}

/** Before the first. */
export const FIRST: DeadCursor = { expires_at: Number.MIN_SAFE_INTEGER, id: '' };

/**
 * Tokens that have run out or were ended, the longest dead first; not those that only descend from
 * one.
 */
export async function listDeadTokens(
  db: Db,
  page: { now: number; after: DeadCursor; limit: number },
): Promise<DeadCursor[]> {
  const { after, now, limit } = page;
  const rows = await db
    .selectFrom('token')
    .select(['id', 'expires_at'])
    .where('expires_at', '<=', now)
    .where((row) =>
      row(
        row.refTuple('expires_at', 'id'),
        '>',
        row.tuple(row.val(after.expires_at), row.val(after.id)),
      ),
    )
    .orderBy('expires_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id, expires_at }) => ({ id, expires_at: expires_at ?? ENDED }));
}

/** Dead tokens that a write set is about, and how many rows of a kind it may touch. */
export interface RemovalPage {
  ids: readonly string[];
  now: number;
  limit: number;
}

const isBare = sql`(
  not exists (select 1 from token as child where child.parent_id = token.id)
  and not exists (select 1 from lease where lease.token_id = token.id)
  and not exists (select 1 from session
    where session.token_id <> '' and session.token_id = token.id
      and session.status not in ('canceling', 'terminated'))
  and not exists (select 1 from cubbyhole where cubbyhole.token_id = token.id))`;

const deadOnes = ({ ids, now }: RemovalPage) => sql`
  select dead.id from token as dead where dead.id in (${sql.join(padded(ids))})
    and dead.expires_at <= ${now}`;

/** So that few texts are prepared, whatever the number of ids. */
function padded(ids: readonly string[]): readonly string[] {
  const [first] = ids;
  if (first === undefined) throw new TypeError('there is nothing to remove');
  const size = SIZES.find((one) => one >= ids.length) ?? ids.length;
  return [...ids, ...new Array<string>(size - ids.length).fill(first)];
}

const SIZES = [1, 8, 50, 200];

/** So many children of those that end with all that descend from them. */
const childrenOf = (page: RemovalPage) => sql`
  select child.id from token as child where child.parent_id in (
    ${deadOnes(page)} and dead.expires_at <> ${sql.lit(ENDED_ALONE)}) limit ${page.limit}`;

/** The children that the next set makes dead tokens of their own. */
export async function listLaden(db: Db, page: RemovalPage): Promise<string[]> {
  const laden = sql<{ id: string }>`(
    select token.id from token where token.id in (${childrenOf(page)}) and not ${isBare})`;
  const rows = await db.selectFrom(laden.as('laden')).select('laden.id').execute();
  return rows.map(({ id }) => id);
}

/** Removes a page of what hangs on dead tokens, and those of them on which nothing hangs then. */
export function removePage(page: RemovalPage): Write[] {
  return removals(page).map((removal) => write(compiled(removal)));
}

/** Entries of cubbyholes in one set: each may be large. */
const ENTRIES = 20;

const removals = (page: RemovalPage): RawBuilder<unknown>[] => [
  sql`update token set parent_id = null, expires_at =
      case when expires_at = ${sql.lit(ENDED_ALONE)} then expires_at else ${sql.lit(ENDED)} end
    where id in (${childrenOf(page)}) and not ${isBare}`,
  sql`delete from token where id in (${childrenOf(page)}) and ${isBare}`,
  // The children of one that was ended alone live on, as orphans.
  sql`update token set parent_id = null where id in (
    select child.id from token as child where child.parent_id in (
      ${deadOnes(page)} and dead.expires_at = ${sql.lit(ENDED_ALONE)}) limit ${page.limit})`,
  // Leases are due, as their token is gone; they are ended in its turns.
  sql`update lease set turn = token_id, token_id = null where id in (
    select bound.id from lease as bound where bound.token_id in (${deadOnes(page)})
    limit ${page.limit})`,
  sql`delete from cubbyhole where (token_id, path) in (
    select own.token_id, own.path from cubbyhole as own where own.token_id in (${deadOnes(page)})
    limit ${Math.min(page.limit, ENTRIES)})`,
  sql`delete from token where id in (${deadOnes(page)}) and ${isBare}`,
];

/** Deletes a token that was ended, if nothing hangs on it. */
export const deleteBare: (token: { id: string }) => Write = preparedWrite<{ id: string }>(
  (_into, { id }) =>
    compiled(
      sql`delete from token where id = ${id} and expires_at <= ${sql.lit(ENDED)} and ${isBare}`,
    ),
);

/** Which of some dead tokens have rows yet; one that was renewed in its last second is none of them. */
export async function listThere(db: Db, ids: readonly string[], now: number): Promise<string[]> {
  const rows = await inBlocks(ids, (some) =>
    db
      .selectFrom('token')
      .select('id')
      .where('id', 'in', some)
      .where('expires_at', '<=', now)
      .execute(),
  );
  return rows.map(({ id }) => id);
}

type MountPage = { mount_id: string; limit: number };

/** Ends so many of the tokens that log-ins through a mount made, which is gone. */
export const endTokensOfMount: (page: MountPage) => Write = preparedWrite<MountPage>(
  (_into, { mount_id, limit }) =>
    compiled(sql`update token set mount_id = '', expires_at =
      case when expires_at = ${sql.lit(ENDED_ALONE)} then expires_at else ${sql.lit(ENDED)} end
      where id in (select made.id from token as made where made.mount_id = ${mount_id}
        order by made.id limit ${limit})`),
);

/** Tokens that log-ins through a mount made. */
export async function listTokensOfMount(db: Db, page: MountPage): Promise<string[]> {
  const rows = await db
    .selectFrom('token')
    .select('id')
    .where('mount_id', '=', page.mount_id)
    .orderBy('id')
    .limit(page.limit)
    .execute();
  return rows.map(({ id }) => id);
}
