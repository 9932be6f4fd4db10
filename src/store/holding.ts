// Apart from `held.ts`, so that the committer's thread need not load the query builder.

/** Whether a statement of a write set only holds rows; everything else there changes some. */
export function isHold(sql: string): boolean {
  return sql.startsWith('select ');
}

/** Whether a statement deletes rows, also one that first works out which. */
export function isDeletion(sql: string): boolean {
  return sql.startsWith('delete ') || (sql.startsWith('with ') && /\) delete from /.test(sql));
}

const LOCKS = [' for key share', ' for share', ' for update'];

/** A query without its locking clause, for SQLite: there a write set has the database to itself. */
export function withoutLocks(sql: string): string {
  if (!isHold(sql)) return sql;
  const places = LOCKS.map((lock) => sql.indexOf(lock)).filter((at) => at >= 0);
  return sql.slice(0, Math.min(sql.length, ...places));
}
