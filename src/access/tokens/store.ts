import { type Expression, sql } from 'kysely';
import { build, type Db, prepared, preparedWrite } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import type { TokenRow } from '../../store/tables.ts';
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

const countDead = prepared<{ id: string; now: number }, { dead: number }>((from, { id, now }) =>
  from
    .withRecursive('line(id, parent_id, expires_at)', (cte) =>
      cte
        .selectFrom('token')
        .where('token.id', '=', id)
        .select(['token.id', 'token.parent_id', 'token.expires_at'])
        .unionAll(
          cte
            .selectFrom('token')
            .innerJoin('line', 'line.parent_id', 'token.id')
            .select(['token.id', 'token.parent_id', 'token.expires_at']),
        ),
    )
    .selectFrom('line')
    .where('expires_at', '<=', now)
    .select((row) => row.fn.countAll<number>().as('dead')),
);

/** Says whether a token, or one that it descends from, has run out. */
export async function isLineDead(db: Db, id: string, now: number): Promise<boolean> {
  const row = await countDead.first(db, { id, now });
  return Number(row?.dead ?? 0) > 0;
}

/** Accessors of living tokens in byte order. */
export async function listAccessors(db: Db, now: number): Promise<string[]> {
  const rows = await db
    .selectFrom('token')
    .select('accessor')
    .where((row) => row.or([row('expires_at', 'is', null), row('expires_at', '>', now)]))
    .orderBy('accessor')
    .execute();
  return rows.map((row) => row.accessor);
}

/** A token and everything that descends from it, itself first. */
export async function listTree(db: Db, id: string): Promise<{ id: string; accessor: string }[]> {
  return db
    .withRecursive('tree(id, accessor)', (cte) =>
      cte
        .selectFrom('token')
        .where('token.id', '=', id)
        .select(['token.id', 'token.accessor'])
        .unionAll(
          cte
            .selectFrom('token')
            .innerJoin('tree', 'tree.id', 'token.parent_id')
            .select(['token.id', 'token.accessor']),
        ),
    )
    .selectFrom('tree')
    .select(['id', 'accessor'])
    .execute();
}

/** Tokens that have run out, the longest dead first. */
export async function listExpired(db: Db, now: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('token')
    .select('id')
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  return rows.map((row) => row.id);
}

/** Tokens that no auth mount made, a page of them by their ids, and where they were made. */
export async function listUnmountedTokens(
  db: Db,
  after: string,
  limit: number,
): Promise<{ id: string; path: string }[]> {
  const rows = await db
    .selectFrom('token')
    .select(['id', 'body'])
    .where('mount_id', '=', '')
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(({ id, body }) => ({ id, path: (JSON.parse(body) as TokenBody).path }));
}

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

/** Takes one of the uses of a use-limited token; refuses the set when none is left. */
export const useToken: (parameters: { id: string }) => Write = preparedWrite<{ id: string }>(
  (into, { id }) =>
    into
      .updateTable('token')
      .set((row) => ({ uses_left: row('uses_left', '-', 1) }))
      .where('id', '=', id)
      .where('uses_left', '>', 0),
  { rows: 1, conflict: 'the uses of the token are used up' },
);

export function renewToken(id: string, times: { expires_at: number; renewed_at: number }): Write {
  return write(build.updateTable('token').set(times).where('id', '=', id), {
    rows: 1,
    conflict: 'the token was revoked in the meantime',
  });
}

/**
 * Deletes a token with all that descend from it, in one statement: however deep the line is,
 * none of it outlives its origin. What another node makes below it meanwhile goes by the foreign key.
 */
export function deleteTree(id: string): Write {
  return deleteTrees('id', id);
}

const takeToken = preparedHold<{ id: string }>((from, { id }) =>
  from.selectFrom('token').select('id').where('id', '=', id).forUpdate(),
);

/** Deletes a token alone: its children are orphans from then on, also those that are being made. */
export function deleteAlone(id: string): Write[] {
  return [
    // Waits for children that other nodes are making, and keeps them from making more.
    takeToken({ id }),
    write(build.updateTable('token').set({ parent_id: null }).where('parent_id', '=', id)),
    deleteTree(id),
  ];
}

/** Deletes the tokens that log-ins through one auth mount made, with all that descend from them. */
export function deleteTokensOfMount(mount_id: string): Write {
  return deleteTrees('mount_id', mount_id);
}

/** Deletes the tokens that a question names, with all that descend from them. */
export function deleteTreesOf(ids: Expression<string>): Write {
  return deleteTrees('id', ids);
}

/** Deletes the tokens of log-ins that came by these aliases, with all that descend from them. */
export function deleteLogIns(alias_ids: Expression<string>): Write {
  const tokens = build
    .selectFrom('token')
    .select('token.id')
    .where('token.alias_id', '<>', '')
    .where('token.alias_id', 'in', alias_ids);
  return deleteTreesOf(sql<string>`${tokens}`);
}

function deleteTrees(root: 'id' | 'mount_id', value: string | Expression<string>): Write {
  return write(
    build
      .withRecursive('tree(id)', (cte) =>
        cte
          .selectFrom('token')
          .where((row) =>
            typeof value === 'string'
              ? row(`token.${root}`, '=', value)
              : row(`token.${root}`, 'in', value),
          )
          .select('token.id')
          // Not `union all`: of a mount's tokens one may descend from another.
          .union(
            cte
              .selectFrom('token')
              .innerJoin('tree', 'tree.id', 'token.parent_id')
              .select('token.id'),
          ),
      )
      .deleteFrom('token')
      .where('id', 'in', (from) => from.selectFrom('tree').select('tree.id')),
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
