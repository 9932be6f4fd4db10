import { build, type Db, prepared } from '../../store/database.ts';
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

export function saveEntry(token_id: string, path: string, value_sealed: Uint8Array): Write {
  return write(
    build
      .insertInto('cubbyhole')
      .values({ token_id, path, value_sealed })
      .onConflict((clash) => clash.columns(['token_id', 'path']).doUpdateSet({ value_sealed })),
    { rows: 1, conflict: 'the token was revoked in the meantime' },
  );
}

export function deleteEntry(token_id: string, path: string): Write {
  return write(
    build.deleteFrom('cubbyhole').where('token_id', '=', token_id).where('path', '=', path),
  );
}
