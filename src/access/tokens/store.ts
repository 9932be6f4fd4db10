import { type Expression, type ExpressionBuilder, sql } from 'kysely';
import type { TokenRowKey } from '../../app/standing.ts';
import { build, compiled, type Db, prepared, preparedWrite } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import { inBlocks } from '../../store/in-blocks.ts';
import type { Tables, TokenRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import type { Token, TokenBody } from './token.ts';

// What a token may do is fixed when it is made and read whole, so it is one JSON column. The
// columns beside it are those it is found by and those that change.

const findById = prepared<{ id: string }, TokenRow>((from, { id }) =>
  from.selectFrom('token').selectAll().where('id', '=', id),
);

const findByAccessor = prepared<{ accessor: string }, TokenRow>((from, { accessor }) =>
  from.selectFrom('token').selectAll().where('accessor', '=', accessor),
);

/** A token by the keyed hash of its text. */
export async function findToken(db: Db, id: string): Promise<Token | undefined> {
  const row = await findById.first(db, { id });
  return row && tokenOf(row);
}

export async function findTokenByAccessor(db: Db, accessor: string): Promise<Token | undefined> {
  const row = await findByAccessor.first(db, { accessor });
  return row && tokenOf(row);
}

// A token that is ended stays as a row until what hangs on it is removed, in pages (`ending/`). That
// it is dead is told by its time, which is before all others: whoever judges times judges it right.

/** Ended with all that descend from it. */
export const ENDED = 0;
/** Ended alone: to those right below it, it is as if it were not there. */
export const ENDED_ALONE = -1;

/** Whether a token was not ended, as a condition: one that has run out was not. */
export function isNotEnded(token: ExpressionBuilder<Tables, 'token'>) {
  return token.or([token('token.expires_at', 'is', null), token('token.expires_at', '>', ENDED)]);
}

const isNotEndedAlone = (table: 'token' | 'above' | 'one') =>
  sql`(${sql.ref(`${table}.expires_at`)} is null
    or ${sql.ref(`${table}.expires_at`)} <> ${sql.lit(ENDED_ALONE)})`;

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

/** Accessors of tokens, dead ones included, a page of them in byte order. */
export function listAccessors(
  db: Db,
  page: { after: string; limit: number },
): Promise<Pick<TokenRow, 'id' | 'accessor' | 'expires_at'>[]> {
  return db
    .selectFrom('token')
    .select(['id', 'accessor', 'expires_at'])
    .where('accessor', '>', page.after)
    .orderBy('accessor')
    .limit(page.limit)
    .execute();
}

/** Tokens that no auth mount made, a page of them by their ids, and where they were made. */
export async function listUnmountedTokens(
  db: Db,
  after: string,
  limit: number,
): Promise<{ tokens: { id: string; path: string }[]; more: boolean }> {
  const { rows, more } = await unmounted.some(db, { after, limit }, 'body');
  const tokens = rows.map(({ id, body }) => ({ id, path: (JSON.parse(body) as TokenBody).path }));
  return { tokens, more: more || rows.length >= limit };
}

const unmounted = prepared<{ after: string; limit: number }, { id: string; body: string }>(
  (from, p) =>
    from
      .selectFrom('token')
      .select(['id', 'body'])
      .where('mount_id', '=', '')
      .where('id', '>', p.after)
      .orderBy('id')
      .limit(p.limit),
);

/**
 * Its parent must be there when the statement runs: that is the foreign key, so a token
 * cannot be born while the one above it is being revoked.
 */
export function insertToken(token: Token): Write {
  const { id, accessor, parent_id, mount_id, expires_at, uses_left, renewed_at } = token;
  const row: TokenRow = {
    id,
    accessor,
    parent_id: parent_id ?? null,
    mount_id,
    alias_id: token.alias?.id ?? '',
    expires_at: expires_at ?? null,
    uses_left,
    renewed_at: renewed_at ?? null,
    body: bodyOf(token),
  };
  return write(build.insertInto('token').values(row), {
    rows: 1,
    conflict: 'cannot create a token with a duplicate ID, or below one that is revoked',
  });
}

/**
 * Takes one of the uses of a use-limited token; refuses the set when none is left. With the last one
 * the token runs out, and what hangs on it: at `ends`, when the request that took it is over.
 */
export const useToken: (parameters: LastUse) => Write = preparedWrite<LastUse>(
  (into, { id, ends }) =>
    into
      .updateTable('token')
      .set((row) => ({
        uses_left: row('uses_left', '-', 1),
        expires_at: sql<number>`case when uses_left = 1 and (expires_at is null or expires_at > ${ends})
          then ${ends} else expires_at end`,
      }))
      .where('id', '=', id)
      .where('uses_left', '>', 0)
      .where(isNotEnded),
  { rows: 1, conflict: 'the uses of the token are used up' },
);

type LastUse = { id: string; ends: number };

/** Gives a token a new end, if its end still is what it was when that was planned. */
export function renewToken(
  { id, expires_at }: { id: string; expires_at: number },
  next: { expires_at: number; renewed_at: number },
): Write {
  const renewed = build.updateTable('token').set(next).where('id', '=', id).where(isNotEnded);
  return write(renewed.where('expires_at', '=', expires_at), {
    rows: 1,
    conflict: 'the token was renewed or revoked in the meantime',
  });
}

/**
 * Ends a token with all that descend from it: they are dead when this is durable, however many they
 * are, since each is judged with those above it. Their rows are removed afterwards, see `ending/`.
 */
export function deleteTree(id: string): Write {
  return endTokens(sql<string>`(select cast(${id} as text))`, ENDED);
}

/** As {@link deleteTree}, of the tokens that a question names. */
export function deleteTreesOf(ids: Expression<string>): Write {
  return endTokens(ids, ENDED);
}

/** Ends the tokens of log-ins that came by these aliases, with all that descend from them. */
export function deleteLogIns(alias_ids: Expression<string>): Write {
  const tokens = build
    .selectFrom('token')
    .select('token.id')
    .where('token.alias_id', '<>', sql.lit(''))
    .where('token.alias_id', 'in', alias_ids);
  return deleteTreesOf(sql<string>`${tokens}`);
}

/** Ends a token alone: its children are orphans from then on, also those that are being made. */
export function deleteAlone(id: string): Write[] {
  return [
    holdLine({ id, accessor: '' }),
    endTokens(sql<string>`(select cast(${id} as text))`, ENDED_ALONE),
  ];
}

/** Tokens of log-ins that came by these aliases and were not ended, in no order; some may be left out. */
export async function listTokensOfAliases(
  db: Db,
  alias_ids: Expression<string>,
  { but, limit }: { but: readonly string[]; limit: number },
): Promise<string[]> {
  const tokens = db
    .selectFrom('token')
    .select('token.id')
    .where('token.alias_id', '<>', sql.lit(''))
    .where('token.alias_id', 'in', alias_ids)
    .where(isNotEnded)
    .limit(limit);
  const others = but.length === 0 ? tokens : tokens.where('token.id', 'not in', but);
  return (await others.execute()).map(({ id }) => id);
}

/** As {@link deleteTree}, of some tokens, which are no longer found by the alias that they came by. */
export function deleteTreesByIds(ids: readonly string[]): Write[] {
  const ended = build.updateTable('token').set({ alias_id: '' }).where('id', 'in', ids);
  return [
    endTokens(sql<string>`(${sql.join(ids)})`, ENDED),
    write(ended.where('expires_at', '<=', ENDED)),
  ];
}

/**
 * The rows are taken first: that waits for whoever is making something by one of them, and refuses
 * whoever begins to. What was ended stays ended in the way that it was.
 */
function endTokens(ids: Expression<string>, as: typeof ENDED | typeof ENDED_ALONE): Write {
  return write(
    build
      .with('taken', (taken) =>
        taken
          .selectFrom('token')
          .select('token.id')
          .where('token.id', 'in', ids)
          .where(isNotEnded)
          .forUpdate(),
      )
      .updateTable('token')
      .set({ expires_at: as })
      .where('id', 'in', (from) => from.selectFrom('taken').select('taken.id')),
  );
}

function tokenOf(row: TokenRow): Token {
  const { body, parent_id, expires_at, renewed_at, alias_id: _, ...keys } = row;
  const fixed: TokenBody = JSON.parse(body);
  return {
    ...fixed,
    ...keys,
    type: 'service',
    parent_id: parent_id ?? undefined,
    expires_at: expires_at ?? undefined,
    renewed_at: renewed_at ?? undefined,
  };
}

function bodyOf(token: TokenBody): string {
  const body: TokenBody = {
    policies: token.policies,
    path: token.path,
    meta: token.meta,
    display_name: token.display_name,
    num_uses: token.num_uses,
    created_at: token.created_at,
    creation_ttl: token.creation_ttl,
    explicit_max_ttl: token.explicit_max_ttl,
    role_max_ttl: token.role_max_ttl,
    period: token.period,
    renewable: token.renewable,
    role: token.role,
    entity_id: token.entity_id,
    bound_cidrs: token.bound_cidrs,
    ...(token.restricted ? { restricted: true } : {}),
    ...(token.bounds ? { bounds: token.bounds } : {}),
    ...(token.alias ? { alias: token.alias } : {}),
  };
  return JSON.stringify(body);
}
