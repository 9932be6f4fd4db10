// Apart from `held.ts`, so that the committer's thread need not load the query builder.

/** Whether a statement of a write set only holds rows; everything else there changes some. */
export function isHold(sql: string): boolean {
  return sql.startsWith('select ');
}

/** Whether a statement deletes rows, also one that first works out which. */
export function isDeletion(sql: string): boolean {
  return sql.startsWith('delete ') || (sql.startsWith('with ') && /\) delete from /.test(sql));
}

const LOCKS = /\sfor (?:key share|share|no key update|update)\b[^)]*/g;

/**
 * A statement without the locking clauses of its queries, for SQLite: there a write set has the
 * database to itself.
 */
export function withoutLocks(sql: string): string {
  return isHold(sql) || sql.startsWith('with ') ? sql.replace(LOCKS, '') : sql;
}
