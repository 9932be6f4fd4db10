import { bodyLength } from '../store/body-length.ts';
import { build, type Db } from '../store/database.ts';
import { keyPages } from '../store/key-page.ts';
import type { SshAuthorityRow } from '../store/tables.ts';
import { type Write, write } from '../store/write.ts';

export function findAuthority(db: Db, mount_id: string): Promise<SshAuthorityRow | undefined> {
  return db
    .selectFrom('ssh_authority')
    .selectAll()
    .where('mount_id', '=', mount_id)
    .executeTakeFirst();
}

/** Refused where the mount has an authority. */
export function insertAuthority(row: SshAuthorityRow): Write {
  return write(build.insertInto('ssh_authority').values(row), { rows: 1 });
}

export function deleteAuthority(mount_id: string): Write {
  return write(build.deleteFrom('ssh_authority').where('mount_id', '=', mount_id));
}

export async function findRoleBody(
  db: Db,
  mount_id: string,
  name: string,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('ssh_role')
    .select('body')
    .where('mount_id', '=', mount_id)
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.body;
}

/** How many bytes a role has as it is kept; none where there is none. */
export const measureRole = bodyLength('ssh_role', ['mount_id', 'name']);

/** Names of a mount's roles, a page of them. */
export const listRoleNames = keyPages('ssh_role', 'name', ['mount_id']);

/** Each write says the whole role: the last one counts. */
export function saveRole(mount_id: string, name: string, body: string): Write[] {
  return [
    deleteRole(mount_id, name),
    write(build.insertInto('ssh_role').values({ mount_id, name, body }), { rows: 1 }),
  ];
}

export function deleteRole(mount_id: string, name: string): Write {
  return write(
    build.deleteFrom('ssh_role').where('mount_id', '=', mount_id).where('name', '=', name),
  );
}
