import { build, type Db, prepared } from '../../store/database.ts';
import type { WrappedAnswerRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';

// The row belongs to its token's row and is deleted with it, however that ends.

const byToken = prepared((sql, p: { token_id: string }) =>
  sql.selectFrom('wrapped_answer').selectAll().where('token_id', '=', p.token_id),
);

export function findWrapped(db: Db, token_id: string): Promise<WrappedAnswerRow | undefined> {
  return byToken.first(db, { token_id });
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
