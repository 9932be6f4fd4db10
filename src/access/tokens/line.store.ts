import { sql } from 'kysely';
import type { TokenRowKey } from '../../app/standing.ts';
import { compiled, type Db, prepared } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import { inBlocks } from '../../store/in-blocks.ts';
import { ENDED, isNotEndedAlone } from './ended.ts';
import type { Token } from './token.ts';

/** Of a row of a line: it has run out, was ended, or came by a mount that is gone. */
const isDeadRow = (now: number, row: 'line' | 'one') => {
  const mount_id = sql.ref(`${row}.mount_id`);
  return sql`(${sql.ref(`${row}.expires_at`)} <= ${now} or (${mount_id} <> ''
    and not exists (select 1 from mount where mount.id = ${mount_id})))`;
};

const findDead = prepared<{ id: string; now: number }, { id: string }>((_from, { id, now }) =>
  compiled(sql<{ id: string }>`
    with recursive line (id, parent_id, expires_at, mount_id) as (
      select id, parent_id, expires_at, mount_id from token
      where id = ${id} and ${isNotEndedAlone('token')}
      union all
      select above.id, above.parent_id, above.expires_at, above.mount_id
      from token as above join line on line.parent_id = above.id
      where ${isNotEndedAlone('above')})
    select id from line where ${isDeadRow(now, 'line')} limit 1`),
);

/**
 * Says of the token that another is made by whether it, or one that it descends from, is dead: it
 * has run out or was ended, or its mount is gone. One that was ended alone is nothing to its children.
 */
export async function isLineDead(db: Db, id: string, now: number): Promise<boolean> {
  return (await findDead.first(db, { id, now })) !== undefined;
}

/** Tokens in one line, each made by the one before: every request looks at all of them. */
export const LONGEST_LINE = 100;

const lineLength = prepared<{ id: string }, { length: number }>((_from, { id }) =>
  compiled(sql<{ length: number }>`
    with recursive line (id, parent_id, place) as (
      select id, parent_id, 1 from token where id = ${id}
      union all
      select above.id, above.parent_id, line.place + 1
      from token as above join line on line.parent_id = above.id
      where line.place < ${sql.lit(LONGEST_LINE)})
    select max(place) as length from line`),
);

/** Whether a token may have children: its line has not come to its end. */
export async function mayHaveChildren(db: Db, id: string): Promise<boolean> {
  return Number((await lineLength.first(db, { id }))?.length ?? 0) < LONGEST_LINE;
}

/** Ids of a token and those above it, but for what one that was ended alone is no more to. */
const lineOf = (id: string, which = sql``) => sql`
  with recursive line (id, parent_id) as (
    select id, parent_id from token where id = ${id} ${which}
    union all
    select above.id, above.parent_id from token as above join line on line.parent_id = above.id
    where ${isNotEndedAlone('above')})
  select id from line`;

/** What is known of one of a line: what it may do is left out, since it may be long, and they many. */
export type OfLine = Pick<Token, 'id' | 'mount_id'>;

const rowsOfLine = prepared<{ id: string }, OfLine>((_from, { id }) =>
  compiled(
    sql<OfLine>`select token.id, token.mount_id from token where token.id in (${lineOf(id)})`,
  ),
);

/** A token with those that it descends from: with any of them it ends. */
export function listLine(db: Db, id: string): Promise<OfLine[]> {
  return rowsOfLine.all(db, { id });
}

/**
 * Which of some tokens are dead, by themselves or by what is above them. Each is looked up by its key: of a join
 * PostgreSQL takes ten times as many lines to be there, and goes through all tokens for a page of them.
 */
export async function listDead(db: Db, ids: readonly string[], now: number): Promise<Set<string>> {
  const rows = await inBlocks(ids, (some) => {
    const dead = sql<{ id: string }>`(
      with recursive line (origin, id, parent_id) as (
        select id, id, parent_id from token where id in (${sql.join(some)})
        union all
        select line.origin, line.parent_id, (select above.parent_id from token as above
          where above.id = line.parent_id and ${isNotEndedAlone('above')})
        from line where line.parent_id is not null)
      select distinct line.origin as id from line where (select one.id from token as one
        where one.id = line.id and (one.id = line.origin or ${isNotEndedAlone('one')})
        and ${isDeadRow(now, 'one')}) is not null)`;
    return db.selectFrom(dead.as('dead')).select('dead.id').execute();
  });
  return new Set(rows.map(({ id }) => id));
}

/** Which of some tokens are there and not dead, in a few reads for all of them: their accessors by their ids. */
export async function listLiving(
  db: Db,
  ids: readonly string[],
  now: number,
): Promise<Map<string, string>> {
  const dead = await listDead(db, ids, now);
  const rows = await inBlocks(ids, (some) =>
    db.selectFrom('token').select(['id', 'accessor']).where('id', 'in', some).execute(),
  );
  const living = rows.filter(({ id }) => !dead.has(id));
  return new Map(living.map(({ id, accessor }) => [id, accessor]));
}

/**
 * Refuses its write set once the token, or one that it descends from, was ended. All of them are
 * held: who ends one waits until the set is durable, and then takes away what it has made.
 */
export const holdLine = preparedHold<TokenRowKey>(
  (_from, { id, accessor }) =>
    compiled(sql`select 1 from (select min(coalesce(held.expires_at, 1)) as earliest from (
      select token.expires_at from token
      where token.id in (${lineOf(id, sql`and ${accessor} in ('', accessor)`)})
      for key share) as held) as line
      where line.earliest > ${sql.lit(ENDED)}`),
  { rows: 1, conflict: 'the token was revoked in the meantime' },
);
