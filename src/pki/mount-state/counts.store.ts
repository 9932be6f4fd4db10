import { type Db, preparedWrite } from '../../store/database.ts';
import { listInPages, PAGE } from '../../store/in-pages.ts';

// How many certificates and revocations a mount has is kept with them: nobody ever counts a million rows.

/** Belongs into the write set that adds what is counted. */
export const countOneMore = preparedWrite(
  (sql, p: { mount_id: string; name: string }) =>
    sql
      .insertInto('pki_count')
      .values({ mount_id: p.mount_id, name: p.name, value: 1 })
      .onConflict((clash) =>
        clash
          .columns(['mount_id', 'name'])
          .doUpdateSet((row) => ({ value: row('pki_count.value', '+', 1) })),
      ),
  { rows: 1 },
);

/** Belongs into the write set that takes away what was counted. */
export const countFewer = preparedWrite(
  (sql, p: { mount_id: string; name: string; fewer: number }) =>
    sql
      .updateTable('pki_count')
      .set((row) => ({ value: row('value', '-', p.fewer) }))
      .where('mount_id', '=', p.mount_id)
      .where('name', '=', p.name),
);

/** Counts of one name, by mount. Where there is nothing it may say nothing. */
export async function listCounts(db: Db, name: string): Promise<ReadonlyMap<string, number>> {
  const rows = await listInPages<{ mount_id: string; value: number }>((last) =>
    db
      .selectFrom('pki_count')
      .select(['mount_id', 'value'])
      .where('name', '=', name)
      .where('mount_id', '>', last?.mount_id ?? '')
      .orderBy('mount_id')
      .limit(PAGE)
      .execute(),
  );
  return new Map(rows.map(({ mount_id, value }) => [mount_id, value]));
}

/** A mount's counts by their names. */
export async function readCounts(db: Db, mount_id: string): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('pki_count')
    .select(['name', 'value'])
    .where('mount_id', '=', mount_id)
    .execute();
  return new Map(rows.map(({ name, value }) => [name, value]));
}
