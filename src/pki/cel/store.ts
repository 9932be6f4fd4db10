import { saveAsRead } from '../../store/as-read.ts';
import { bodyLength } from '../../store/body-length.ts';
import { build, type Db } from '../../store/database.ts';
import { keyPages } from '../../store/key-page.ts';
import { taggedBody } from '../../store/tagged-body.ts';
import { type Write, write } from '../../store/write.ts';
import { type CelProgram, programSchema } from './program.ts';

/** A role as it is kept; by its tag a write set can tell that it still is the same. */
export interface StoredCelRole {
  program: CelProgram;
  body_tag: string;
}

const findBody = taggedBody('pki_cel_role', ['mount_id', 'name']);

export async function findCelRole(
  db: Db,
  mount_id: string,
  name: string,
): Promise<StoredCelRole | undefined> {
  const row = await findBody(db, { mount_id, name });
  return row && { program: programSchema.parse(JSON.parse(row.body)), body_tag: row.body_tag };
}

/** How many bytes a program has as it is kept; none where there is none. */
export const measureCelRole = bodyLength('pki_cel_role', ['mount_id', 'name']);

/** Names of a mount's roles, a page of them. */
export const listCelRoleNames = keyPages('pki_cel_role', 'name', ['mount_id']);

/**
 * @param read the role that is being replaced, as it was read; undefined where there was none
 * @param next.body_tag one that no role had
 */
export function saveCelRole(
  { mount_id, name }: { mount_id: string; name: string },
  { read, next }: { read: StoredCelRole | undefined; next: StoredCelRole },
): Write {
  return saveAsRead('pki_cel_role', {
    key: { mount_id, name },
    read: read && { body_tag: read.body_tag },
    next: { body: JSON.stringify(next.program), body_tag: next.body_tag },
  });
}

export function deleteCelRole(mount_id: string, name: string): Write {
  return write(
    build.deleteFrom('pki_cel_role').where('mount_id', '=', mount_id).where('name', '=', name),
  );
}
