import { changeAsRead, holdAsRead, saveAsRead } from '../../../store/as-read.ts';
import { bodyLength } from '../../../store/body-length.ts';
import { build, type Db } from '../../../store/database.ts';
import { keyPages } from '../../../store/key-page.ts';
import { type Write, write } from '../../../store/write.ts';
import { storedUser, type User } from './user.ts';

// A user is found by name and read whole. The hash stands beside the rest, so that no reader of
// settings ever holds it.

export async function findUser(db: Db, mount_id: string, name: string): Promise<User | undefined> {
  const row = await db
    .selectFrom('userpass_user')
    .select('body')
    .where('mount_id', '=', mount_id)
    .where('name', '=', name)
    .executeTakeFirst();
  return row && storedUser.parse(JSON.parse(row.body));
}

/** A user with what a log-in goes by, as it is kept. */
export interface StoredUser {
  password_hash: string;
  body: string;
  /** Of the body; by that and the hash a write set can tell that the user still is the same. */
  body_tag: string;
}

export async function findStoredUser(
  db: Db,
  mount_id: string,
  name: string,
): Promise<StoredUser | undefined> {
  return db
    .selectFrom('userpass_user')
    .select(['password_hash', 'body', 'body_tag'])
    .where('mount_id', '=', mount_id)
    .where('name', '=', name)
    .executeTakeFirst();
}

/** What whoever changes a password goes by: undefined where there is no such user. */
export async function findPasswordHash(
  db: Db,
  { mount_id, name }: { mount_id: string; name: string },
): Promise<string | undefined> {
  const row = await db
    .selectFrom('userpass_user')
    .select('password_hash')
    .where('mount_id', '=', mount_id)
    .where('name', '=', name)
    .executeTakeFirst();
  return row?.password_hash;
}

export function parseUser({ body }: StoredUser): User {
  return storedUser.parse(JSON.parse(body));
}

/** Refuses its write set unless a user is what it was. */
export function holdUser(
  key: { mount_id: string; name: string },
  { password_hash, body_tag }: Omit<StoredUser, 'body'>,
): Write {
  return holdAsRead('userpass_user', { key, read: { password_hash, body_tag } });
}

/** How many bytes a user has as it is kept; none where there is none. */
export const measureUser = bodyLength('userpass_user', ['mount_id', 'name']);

/** Names of a mount's users, a page of them. */
export const listUserNames = keyPages('userpass_user', 'name', ['mount_id']);

/** @param read the user as it was read, undefined where there was none */
export function saveUser(
  { mount_id, name }: { mount_id: string; name: string },
  read: StoredUser | undefined,
  next: { user: User; password_hash: string },
): Write {
  const { user, password_hash } = next;
  return saveAsRead('userpass_user', {
    key: { mount_id, name },
    read: read && { password_hash: read.password_hash, body_tag: read.body_tag },
    next: { password_hash, body: JSON.stringify(user) },
  });
}

/** Another hash of the password that a user was found with, who stays the same otherwise. */
export function replaceHash(
  key: { mount_id: string; name: string },
  { password_hash, body_tag }: StoredUser,
  next: string,
): Write {
  const read = { password_hash, body_tag };
  return changeAsRead('userpass_user', { key, read, next: { password_hash: next } });
}

export function deleteUser(key: { mount_id: string; name: string }): Write {
  return write(
    build
      .deleteFrom('userpass_user')
      .where('mount_id', '=', key.mount_id)
      .where('name', '=', key.name),
  );
}
