import { build, type Db, prepared } from '../../store/database.ts';
import type { ResourceRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import type { Resource } from '../resource.ts';
import { resourceOf } from '../resources/store.ts';

/** Where a page of log-ins ended. */
export interface LogInCursor {
  ms: number;
  id: string;
}

const page = prepared<{ ms: number; id: string; limit: number }, ResourceRow>((from, p) =>
  from
    .selectFrom('resource')
    .selectAll()
    .where('type', '=', 'auth-token')
    .where((row) =>
      row(row.refTuple('created_ms', 'id'), '>', row.tuple(row.val(p.ms), row.val(p.id))),
    )
    .orderBy('created_ms')
    .orderBy('id')
    .limit(p.limit),
);

/** Log-ins, the oldest first. */
export async function listLogIns(
  db: Db,
  { ms, id }: LogInCursor,
  limit: number,
): Promise<Resource[]> {
  return (await page.all(db, { ms, id, limit })).map(resourceOf);
}

/** Which of some rows of tokens are there. */
export async function listTokenRows(db: Db, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db.selectFrom('token').select('id').where('id', 'in', ids).execute();
  return new Set(rows.map((row) => row.id));
}

/** Notes that a token was used; one that is gone meanwhile stays gone. */
export function touchAuthToken(resource: Resource, now: number): Write {
  return write(
    build
      .updateTable('resource')
      .set({ body: JSON.stringify({ ...resource.body, last_used_ms: now }) })
      .where('id', '=', resource.id),
  );
}
