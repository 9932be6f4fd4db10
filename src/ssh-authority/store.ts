import { bodyLength } from '../store/body-length.ts';
import { build, type Db } from '../store/database.ts';
import { preparedHold } from '../store/held.ts';
import { keyPages } from '../store/key-page.ts';
import type { SshAuthorityRow } from '../store/tables.ts';
import { taggedBody } from '../store/tagged-body.ts';
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

/** A role's text with its tag. */
export const findRoleBody = taggedBody('ssh_role', ['mount_id', 'name']);

/** Refuses its write set unless the mount's settings, its authority and a role are what a certificate was decided on. */
export const holdSigning = preparedHold<{
  mount_id: string;
  /** Of the mount's text. */
  mount_tag: string;
  public_key: string;
  role: string;
  /** Of the role's text. */
  role_tag: string;
}>(
  (from, p) =>
    from
      .selectFrom(['mount', 'ssh_authority', 'ssh_role'])
      .select('mount.id')
      .where('mount.id', '=', p.mount_id)
      .where('mount.body_tag', '=', p.mount_tag)
      .where('ssh_authority.mount_id', '=', p.mount_id)
      .where('ssh_authority.public_key', '=', p.public_key)
      .where('ssh_role.mount_id', '=', p.mount_id)
      .where('ssh_role.name', '=', p.role)
      .where('ssh_role.body_tag', '=', p.role_tag)
      .forShare(),
  { rows: 1, conflict: 'what the certificate rests on was changed meanwhile: try again' },
);

/** How many bytes a role has as it is kept; none where there is none. */
export const measureRole = bodyLength('ssh_role', ['mount_id', 'name']);

/** Names of a mount's roles, a page of them. */
export const listRoleNames = keyPages('ssh_role', 'name', ['mount_id']);

/** Each write says the whole role: the last one counts. Written as it is, it keeps its tag. */
export function saveRole(mount_id: string, name: string, body: string): Write {
  return write(
    build
      .insertInto('ssh_role')
      .values({ mount_id, name, body })
      .onConflict((clash) =>
        clash
          .columns(['mount_id', 'name'])
          .doUpdateSet(({ ref }) => ({ body: ref('excluded.body') })),
      ),
    { rows: 1 },
  );
}

export function deleteRole(mount_id: string, name: string): Write {
  return write(
    build.deleteFrom('ssh_role').where('mount_id', '=', mount_id).where('name', '=', name),
  );
}
