import { holdAsRead, saveAsRead } from '../../store/as-read.ts';
import { bodyLength } from '../../store/body-length.ts';
import { build, type Db } from '../../store/database.ts';
import { keyPages } from '../../store/key-page.ts';
import { taggedBody } from '../../store/tagged-body.ts';
import { type Write, write } from '../../store/write.ts';
import { storedTokenRole, type TokenRole } from './role.ts';

/** A role as it is kept; by the tag of its text a write set can tell that it still is the same. */
export interface StoredTokenRole {
  rules: TokenRole;
  body_tag: string;
}

export async function findTokenRole(db: Db, name: string): Promise<TokenRole | undefined> {
  return (await findStoredTokenRole(db, name))?.rules;
}

/** Refuses its write set unless a role is what it was. */
export function holdTokenRole(role: { name: string; body_tag: string }): Write {
  const { name, body_tag } = role;
  const changed = 'the role was changed in the meantime';
  return holdAsRead('token_role', { key: { name }, read: { body_tag } }, changed);
}

const findBody = taggedBody('token_role', ['name']);

export async function findStoredTokenRole(
  db: Db,
  name: string,
): Promise<StoredTokenRole | undefined> {
  const row = await findBody(db, { name });
  return row && { rules: storedTokenRole.parse(JSON.parse(row.body)), body_tag: row.body_tag };
}

/** How many bytes a role has as it is kept; none where there is none. */
export const measureTokenRole = bodyLength('token_role', ['name']);

/** Names of roles, a page of them. */
export const listTokenRoles = keyPages('token_role', 'name');

/** @param read the role as it was read, undefined where there was none */
export function saveTokenRole(
  name: string,
  read: StoredTokenRole | undefined,
  role: TokenRole,
): Write {
  const was = read && { body_tag: read.body_tag };
  const next = { body: JSON.stringify(role) };
  return saveAsRead('token_role', { key: { name }, read: was, next });
}

export function deleteTokenRole(name: string): Write {
  return write(build.deleteFrom('token_role').where('name', '=', name));
}
