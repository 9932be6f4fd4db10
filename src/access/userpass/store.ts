import { build, type Db } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import { type Write, write } from '../../store/write.ts';
import { type User, userSchema } from './user.ts';

// A user is found by name and read whole. The hash stands beside the rest, so that no reader of
// settings ever holds it.

export async function findUser(db: Db, mount_id: string, name: string): Promise<User | undefined> {
  const row = await db
    .selectFrom('userpass_user')
    .select('body')
    .where('mount_id', '=', mount_id)
    .where('name', '=', name)
    .executeTakeFirst();
  return row && userSchema.parse(JSON.parse(row.body));
}

/** A user with what a log-in goes by, as it is kept. */
export interface StoredUser {
  password_hash: string;
  body: string;
}

export async function findStoredUser(
  db: Db,
  mount_id: string,
  name: string,
): Promise<StoredUser | undefined> {
  return db
    .selectFrom('userpass_user')
    .select(['password_hash', 'body'])
    .where('mount_id', '=', mount_id)
    .where('name', '=', name)
    .executeTakeFirst();
}

export function parseUser({ body }: StoredUser): User {
  return userSchema.parse(JSON.parse(body));
}

/** Refuses its write set unless a user is what it was. */
export const holdUser = preparedHold<
  StoredUser & { mount_id: string; name: string } & Record<string, string>
>(
  (from, p) =>
    from
      .selectFrom('userpass_user')
      .select('name')
      .where('mount_id', '=', p.mount_id)
      .where('name', '=', p.name)
      .where('password_hash', '=', p.password_hash)
      .where('body', '=', p.body)
      .forShare(),
  { rows: 1 },
);

export async function listUserNames(db: Db, mount_id: string): Promise<string[]> {
  const rows = await db
    .selectFrom('userpass_user')
    .select('name')
    .where('mount_id', '=', mount_id)
    .orderBy('name')
    .execute();
  return rows.map((row) => row.name);
}

export function insertUser(
  key: { mount_id: string; name: string },
  user: User,
  password_hash: string,
): Write {
  return write(
    build.insertInto('userpass_user').values({ ...key, password_hash, body: JSON.stringify(user) }),
    { rows: 1, conflict: 'the user was created by somebody else in the meantime' },
  );
}

/** @param password_hash a new one, or undefined to keep the one there is */
export function updateUser(
  key: { mount_id: string; name: string },
  user: User,
  password_hash: string | undefined,
): Write {
  return write(
    build
      .updateTable('userpass_user')
      .set({
        body: JSON.stringify(user),
        ...(password_hash === undefined ? {} : { password_hash }),
      })
      .where('mount_id', '=', key.mount_id)
      .where('name', '=', key.name),
    { rows: 1, conflict: 'the user was deleted by somebody else in the meantime' },
  );
}

export function deleteUser(key: { mount_id: string; name: string }): Write {
  return write(
    build
      .deleteFrom('userpass_user')
      .where('mount_id', '=', key.mount_id)
      .where('name', '=', key.name),
  );
}
