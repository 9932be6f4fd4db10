import { sql } from 'kysely';
import { build, compiled, type Db, prepared } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import { type Write, write } from '../../store/write.ts';

// The rows belong to their token's row and are deleted with it, however that ends.

const byPath = prepared((sql, p: { token_id: string; path: string }) =>
  sql
    .selectFrom('cubbyhole')
    .select('value_sealed')
    .where('token_id', '=', p.token_id)
    .where('path', '=', p.path),
);

export async function findEntry(
  db: Db,
  token_id: string,
  path: string,
): Promise<Uint8Array | undefined> {
  return (await byPath.first(db, { token_id, path }))?.value_sealed;
}

/** Paths that begin with `folder`, in byte order. */
export async function listPaths(db: Db, token_id: string, folder: string): Promise<string[]> {
  let found = db.selectFrom('cubbyhole').select('path').where('token_id', '=', token_id);
  if (folder !== '') {
    // Everything that begins with "a/" sorts before "a0".
    found = found.where('path', '>=', folder).where('path', '<', `${folder.slice(0, -1)}0`);
  }
  const rows = await found.orderBy('path').execute();
  return rows.map(({ path }) => path);
}

/** Writes an entry whole: one that was found in its place, or a new one; whichever that is no more refuses the write set. */
export function saveEntry(
  { token_id, path, found }: { token_id: string; path: string; found: boolean },
  value_sealed: Uint8Array,
): Write {
  const statement = found
    ? build
        .updateTable('cubbyhole')
        .set({ value_sealed })
        .where('token_id', '=', token_id)
        .where('path', '=', path)
    : build.insertInto('cubbyhole').values({ token_id, path, value_sealed });
  return write(statement, {
    rows: 1,
    conflict: 'the entry was changed, or the token revoked, in the meantime',
  });
}

/** What one token may keep; a list shows the characters of all paths at once. */
export const MOST = { entries: 1_000, bytes: 16 << 20, path_characters: 1 << 20 };

type Kept = typeof MOST;

const keptBy = (id: string) => sql<Kept>`
  select count(*) as entries, coalesce(sum(length(value_sealed)), 0) as bytes,
    coalesce(sum(length(path)), 0) as path_characters
  from cubbyhole where token_id = ${id}`;

const kept = prepared<{ id: string; path: string }, Kept>((_from, { id, path }) =>
  compiled(sql<Kept>`${keptBy(id)} and path <> ${path}`),
);

/** How much a token keeps besides what is at one path. */
export async function findKept(db: Db, id: string, path: string): Promise<Kept> {
  const found = await kept.first(db, { id, path });
  return {
    entries: Number(found?.entries ?? 0),
    bytes: Number(found?.bytes ?? 0),
    path_characters: Number(found?.path_characters ?? 0),
  };
}

/** Refuses its write set when it has left more than a token may keep. */
export const holdWithin = preparedHold<{ id: string }>(
  (_from, { id }) =>
    compiled(sql`select 1 from (${keptBy(id)}) as kept
      where entries <= ${sql.lit(MOST.entries)} and bytes <= ${sql.lit(MOST.bytes)}
        and path_characters <= ${sql.lit(MOST.path_characters)}`),
  { rows: 1, conflict: 'the cubbyhole is full' },
);

export function deleteEntry(token_id: string, path: string): Write {
  return write(
    build.deleteFrom('cubbyhole').where('token_id', '=', token_id).where('path', '=', path),
  );
}
