import { sql } from 'kysely';
import { build, compiled, type Db, prepared } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import type { WrappedAnswerRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { MOST_WRAPPED, type Wrapped } from '../tokens/wrapping.ts';

// The row belongs to its token's row and is deleted with it, however that ends.

const byToken = prepared((sql, p: { token_id: string }) =>
  sql.selectFrom('wrapped_answer').selectAll().where('token_id', '=', p.token_id),
);

export function findWrapped(db: Db, token_id: string): Promise<WrappedAnswerRow | undefined> {
  return byToken.first(db, { token_id });
}

const toldByToken = prepared((sql, p: { token_id: string }) =>
  sql
    .selectFrom('wrapped_answer')
    .select(['creation_path', 'created_at_ms', 'ttl'])
    .where('token_id', '=', p.token_id),
);

/** What is told of an answer, which may have megabytes itself. */
export function findWrapping(
  db: Db,
  token_id: string,
): Promise<Pick<WrappedAnswerRow, 'creation_path' | 'created_at_ms' | 'ttl'> | undefined> {
  return toldByToken.first(db, { token_id });
}

export function insertWrapped(row: WrappedAnswerRow): Write {
  return write(build.insertInto('wrapped_answer').values(row), { rows: 1 });
}

/** Refuses the set of everybody but the first who takes the answer. */
export function takeWrapped(token_id: string): Write {
  return write(build.deleteFrom('wrapped_answer').where('token_id', '=', token_id), {
    rows: 1,
    conflict: 'the wrapped answer was taken already',
  });
}

const wrappedBy = (maker: string) => sql<Wrapped>`
  select count(*) as answers, coalesce(sum(bytes), 0) as bytes
  from wrapped_answer where maker <> '' and maker = ${maker}`;

const wrapped = prepared<{ maker: string }, Wrapped>((_from, { maker }) =>
  compiled(wrappedBy(maker)),
);

/** How much lies wrapped that somebody had wrapped. */
export async function findWrappedBy(db: Db, maker: string): Promise<Wrapped> {
  return countedOf(await wrapped.first(db, { maker }));
}

function countedOf(found: Wrapped | undefined): Wrapped {
  return { answers: Number(found?.answers ?? 0), bytes: Number(found?.bytes ?? 0) };
}

/** An answer whose token has run out, which nobody can take any more. */
const ranOut = (now: number) => sql<boolean>`created_at_ms / 1000 + ttl <= ${now}`;

/** As {@link findWrappedBy}, without what has run out: read one by one, so only where that counts. */
export async function findLivingWrappedBy(db: Db, maker: string, now: number): Promise<Wrapped> {
  return countedOf(await livingBy.first(db, { maker, now }));
}

const livingBy = prepared<{ maker: string; now: number }, Wrapped>((_from, { maker, now }) =>
  compiled(sql<Wrapped>`${wrappedBy(maker)} and not (${ranOut(now)})`),
);

/** @param now Unix seconds; their tokens go with the others that have run out */
export function deleteRanOut(maker: string, now: number): Write {
  const of = build.deleteFrom('wrapped_answer').where('maker', '<>', '').where('maker', '=', maker);
  return write(of.where(ranOut(now)));
}

/** Refuses its write set when it has left more than one may have wrapped. */
export const holdWrappedWithin = preparedHold<{ maker: string }>(
  (_from, { maker }) =>
    compiled(sql`select 1 from (${wrappedBy(maker)}) as wrapped
      where answers <= ${sql.lit(MOST_WRAPPED.answers)} and bytes <= ${sql.lit(MOST_WRAPPED.bytes)}`),
  { rows: 1, conflict: 'too many answers are wrapped' },
);
