import { sql } from 'kysely';
import { build, type Db, prepared, preparedWrite } from '../../store/database.ts';
import type { TokenRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { isNotEnded } from './ended.ts';
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
  const { id, accessor, parent_id, mount_id, expires_at, uses_left, renewed_at, ...fixed } = token;
  const { type: _, parent_accessor: __, ...body } = fixed;
  const row: TokenRow = {
    id,
    accessor,
    parent_id: parent_id ?? null,
    mount_id,
    alias_id: token.alias?.id ?? '',
    expires_at: expires_at ?? null,
    uses_left,
    renewed_at: renewed_at ?? null,
    // What is undefined, or not restricted, is left out.
    body: JSON.stringify({ ...body, restricted: body.restricted || undefined }),
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
