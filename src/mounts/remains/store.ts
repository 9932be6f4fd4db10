import { sql } from 'kysely';
import { aside } from '../../store/aside.ts';
import { build, type Db } from '../../store/database.ts';
import type { RemovedMountRow, Tables } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';

/** Tables whose rows belong to a mount. */
type MountTable = {
  [Name in keyof Tables]: 'mount_id' extends keyof Tables[Name] ? Name : never;
}[keyof Tables];

/**
 * The column by which the rows of a mount are deleted in pages, for each table that has some.
 * Tokens are ended in pages of their own; everything else is here, or does not compile.
 */
const PAGED_BY: Readonly<Record<Exclude<MountTable, 'token'>, string>> = {
  lease: 'id',
  pki_certificate_name: 'serial',
  pki_certificate: 'serial',
  pki_revocation: 'serial',
  pki_crl: 'class',
  pki_revision: 'mount_id',
  pki_count: 'name',
  pki_role: 'name',
  pki_issuer: 'id',
  pki_key: 'id',
  pki_config: 'name',
  pki_authority: 'mount_id',
  userpass_user: 'name',
  approle_secret_id: 'id',
  approle_role: 'name',
};

/** Every such table, and the column it is paged by. */
export const REMAINS: readonly (readonly [table: string, column: string])[] =
  Object.entries(PAGED_BY);

/** Where leases are. */
export const LEASES: (typeof REMAINS)[number] = ['lease', PAGED_BY.lease];

/** Of these no index has the rows of a mount in the order of their keys: a page would sort all of them. */
const BY_KEYS: readonly string[] = ['lease', 'approle_secret_id'];

/** Keys of a page of rows; each once, and in order where pages go by it. */
export async function listRemains(
  db: Db,
  mount_id: string,
  [table, column]: readonly [table: string, column: string],
  limit: number,
): Promise<string[]> {
  if (BY_KEYS.includes(table)) {
    const some = sql<{ key: string }>`(select ${sql.ref(column)} as key
      from ${sql.table(table)} where mount_id = ${mount_id} limit ${limit})`;
    const rows = await db.selectFrom(some.as('some')).select('some.key').execute();
    return rows.map(({ key }) => key);
  }
  const page = sql<{ key: string }>`(select distinct ${sql.ref(column)} as key
    from ${sql.table(table)} where mount_id = ${mount_id} order by key limit ${limit})`;
  const rows = await db
    .selectFrom(page.as('page'))
    .select('page.key')
    .orderBy('page.key')
    .execute();
  return rows.map(({ key }) => key);
}

/** Deletes the rows of a mount whose keys are those of a page, or before. */
export function deleteRemains(
  mount_id: string,
  [table, column]: readonly [table: string, column: string],
  keys: readonly string[],
): Write {
  if (BY_KEYS.includes(table)) {
    const query = sql`delete from ${sql.table(table)}
      where ${aside('mount_id')} = ${mount_id} and ${sql.ref(column)} in (${sql.join(keys)})`;
    return write({ compile: () => query.compile(build) });
  }
  const last = keys.at(-1) ?? '';
  const query = sql`delete from ${sql.table(table)}
    where mount_id = ${mount_id} and ${sql.ref(column)} <= ${last}`;
  return write({ compile: () => query.compile(build) });
}

/** Remembers a mount that is gone until none of its rows is left. */
export function insertRemovedMount(row: RemovedMountRow): Write {
  return write(build.insertInto('removed_mount').values(row), { rows: 1 });
}

export function deleteRemovedMount(id: string): Write {
  return write(build.deleteFrom('removed_mount').where('id', '=', id));
}

export async function listRemovedMounts(db: Db): Promise<RemovedMountRow[]> {
  return db.selectFrom('removed_mount').selectAll().orderBy('removed_at').execute();
}

/** Mounts that tokens or leases say they are of, by as many reads of an index as there are. */
export async function listOwners(db: Db, table: 'token' | 'lease'): Promise<string[]> {
  const owners: string[] = [];
  for (let after = ''; ; ) {
    const row = await db
      .selectFrom(table)
      .select('mount_id')
      .where('mount_id', '>', after)
      .orderBy('mount_id')
      .limit(1)
      .executeTakeFirst();
    if (!row) return owners;
    owners.push(row.mount_id);
    after = row.mount_id;
  }
}
