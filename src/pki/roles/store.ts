import { saveAsRead } from '../../store/as-read.ts';
import { bodyLength } from '../../store/body-length.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { build, type Db } from '../../store/database.ts';
import { keyPages } from '../../store/key-page.ts';
import { type TaggedBody, taggedBody } from '../../store/tagged-body.ts';
import { type Write, write } from '../../store/write.ts';
import { type Role, roleSchema } from './role.ts';

// A role is read whole and never searched by its rules, so it is kept as one JSON
// column; only the keys it is looked up by are columns of their own.

/** A role as it is kept. */
export interface StoredRole extends TaggedBody {
  role: Role;
}

const findBody = taggedBody('pki_role', ['mount_id', 'name']);

export async function findStoredRole(
  db: Db,
  mount_id: string,
  name: string,
): Promise<StoredRole | undefined> {
  const row = await findBody(db, { mount_id, name });
  return row && { role: parseRole(row.body), ...row };
}

/** How many bytes a role has as it is kept; none where there is none. */
export const measureRole = bodyLength('pki_role', ['mount_id', 'name']);

/** More are not counted: who reads the number has to look at them one by one. */
export const MOST_COUNTED = 10_000;

/** How many roles of a mount name an issuer so; at most one more than {@link MOST_COUNTED}. */
export async function countRolesOf(db: Db, mount_id: string, issuer_ref: string): Promise<number> {
  const some = build
    .selectFrom('pki_role')
    .select('name')
    .where('mount_id', '=', mount_id)
    .where('issuer_ref', '=', issuer_ref)
    .limit(MOST_COUNTED + 1)
    .as('some');
  const row = await db
    .selectFrom(some)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirst();
  return Number(row?.count ?? 0);
}

/** Names of a mount's roles, a page of them. */
export const listRoleNames = keyPages('pki_role', 'name', ['mount_id']);

function parseRole(body: string): Role {
  return roleSchema.parse(JSON.parse(body));
}

/** @param read the role that is being replaced, as it was read; undefined where there was none */
export function saveRole(
  mount_id: string,
  name: string,
  { read, role }: { read: StoredRole | undefined; role: Role },
): Write[] {
  const save = saveAsRead('pki_role', {
    key: { mount_id, name },
    read: read && { body_tag: read.body_tag },
    next: { body: JSON.stringify(role), issuer_ref: issuerColumn(role) },
  });
  return [save, bumpConfigVersion()];
}

/** Names and ids are shorter; an index takes no text of any length. */
const LONGEST_REF = 255;

function issuerColumn({ issuer_ref }: Role): string {
  return issuer_ref.length <= LONGEST_REF ? issuer_ref : '';
}

export function deleteRole(mount_id: string, name: string): Write[] {
  const remove = write(
    build.deleteFrom('pki_role').where('mount_id', '=', mount_id).where('name', '=', name),
  );
  return [remove, bumpConfigVersion()];
}
