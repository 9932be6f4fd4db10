import { sql } from 'kysely';
import { aside } from '../../store/aside.ts';
import { build, compiled, type Db, MOST_BYTES } from '../../store/database.ts';
import { keyPages, listDistinct } from '../../store/key-page.ts';
import type { RemovedMountRow, Tables } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';

/** Tables whose rows belong to a mount. */
type MountTable = {
  [Name in keyof Tables]: 'mount_id' extends keyof Tables[Name] ? Name : never;
}[keyof Tables];

/** How the rows of a table are deleted in pages. */
interface Paged {
  /** What tells a row from the others of its mount, in the order of an index where there is one. */
  keys: readonly [string, ...string[]];
  /** Columns that may be long: a page has so many bytes of them, or a single row. */
  long?: readonly string[];
  /** The most rows of a page, where an engine has to read the whole of a row to tell its bytes. */
  at_once?: number;
  /** No index has the rows of a mount in the order of their keys: a page would sort all of them. */
  unordered?: true;
}

/**
 * How each table that has rows of a mount gives them up. Tokens are ended in pages of their own;
 * everything else is here, or does not compile.
 */
const PAGED: Readonly<Record<Exclude<MountTable, 'token'>, Paged>> = {
  lease: { keys: ['id'], long: ['data'], unordered: true },
  // Before revocations: what is being carried out is refused once its request is gone.
  pki_revocation_request: { keys: ['serial'] },
  pki_certificate_name: { keys: ['reversed', 'serial'] },
  pki_certificate: { keys: ['serial'], long: ['der', 'names'] },
  pki_certificate_metadata: { keys: ['serial'], long: ['data'] },
  pki_blocked_key: { keys: ['key_sha256'] },
  pki_revoked_issuer: { keys: ['tbs_sha256'] },
  pki_expiration_warning: { keys: ['mount_id'], long: ['body', 'webhook_secret_sealed'] },
  pki_expiration_cursor: { keys: ['channel', 'ahead'] },
  pki_expiration_message: { keys: ['channel', 'id'], long: ['body'] },
  pki_revocation: { keys: ['serial'] },
  pki_crl: { keys: ['class'], long: ['scope', 'before_entries', 'after_entries'] },
  pki_revision: { keys: ['mount_id'] },
  pki_count: { keys: ['name'] },
  pki_tidy: { keys: ['mount_id'] },
  pki_role: { keys: ['name'], long: ['body'] },
  pki_cel_role: { keys: ['name'], long: ['body'] },
  pki_issuer: { keys: ['id'], long: ['certificate', 'body'] },
  pki_key: { keys: ['id'], long: ['private_key_sealed'] },
  pki_config: { keys: ['name'], long: ['body'], at_once: 32 },
  pki_authority: { keys: ['mount_id'] },
  pki_external_policy: { keys: ['mount_id'], long: ['body', 'client_key_sealed'] },
  ssh_role: { keys: ['name'], long: ['body'] },
  ssh_authority: { keys: ['mount_id'] },
  userpass_user: { keys: ['name'], long: ['body'], at_once: 32 },
  approle_secret_id: { keys: ['id'], long: ['body'], unordered: true },
  approle_role: { keys: ['name'], long: ['body'] },
};

/** A table, and how its rows are deleted in pages. */
export type Place = readonly [table: string, by: Paged];

/** Every such table. */
export const MOUNT_TABLES: readonly Place[] = Object.entries(PAGED);

/** Where leases are. */
export const LEASES: Place = ['lease', PAGED.lease];

/** What tells a row from the others of its mount. */
type Key = readonly string[];

const columnsOf = ({ keys }: Paged) => sql.join(keys.map((key) => sql.ref(key)));

/** How many bytes a row has that may be many. */
const bytesOf = ({ long = [] }: Paged) =>
  sql.join(
    [sql.lit(0), ...long.map((one) => sql`coalesce(octet_length(${sql.ref(one)}), 0)`)],
    sql` + `,
  );

/** Keys of a page of rows: so many at most, and in order where pages go by it. */
export async function listMountRows(
  db: Db,
  mount_id: string,
  [table, by]: Place,
  limit: number,
): Promise<Key[]> {
  const order = by.unordered ? sql`` : sql`order by ${columnsOf(by)}`;
  const most = Math.min(limit, by.at_once ?? limit);
  const page = sql<Record<string, unknown>>`(select ${columnsOf(by)}, ${bytesOf(by)} as bytes
    from ${sql.table(table)} where mount_id = ${mount_id} ${order} limit ${most})`;
  const rows = db.selectFrom(page.as('page')).selectAll();
  return keysOf(by, await (by.unordered ? rows : rows.orderBy(columnsOf(by))).execute());
}

/** Those of the first rows, as far as they may be deleted at once: one at least. */
function keysOf({ keys }: Paged, rows: readonly Record<string, unknown>[]): Key[] {
  const page: Key[] = [];
  let bytes = 0;
  for (const row of rows) {
    bytes += Number(row.bytes);
    if (page.length > 0 && bytes > MOST_BYTES) break;
    page.push(keys.map((key) => String(row[key])));
  }
  return page;
}

/** Deletes the rows of a mount whose keys are those of a page, or before. */
export function deleteMountRows(mount_id: string, [table, by]: Place, page: readonly Key[]): Write {
  const rest = sql`delete from ${sql.table(table)} where`;
  if (by.unordered) {
    return write(
      compiled(sql`${rest} ${aside('mount_id')} = ${mount_id}
        and ${columnsOf(by)} in (${sql.join(page.flat())})`),
    );
  }
  const last = page.at(-1) ?? [];
  return write(
    compiled(sql`${rest} mount_id = ${mount_id} and (${columnsOf(by)}) <= (${sql.join(last)})`),
  );
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

/** Mounts that tokens or leases say they are of. */
export function listOwners(db: Db, table: 'token' | 'lease'): Promise<string[]> {
  return listDistinct(db, ownerPages[table]);
}

const ownerPages = {
  token: keyPages('token', 'mount_id'),
  lease: keyPages('lease', 'mount_id'),
};
