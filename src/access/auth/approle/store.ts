import { deleteAsRead, holdAsRead, saveAsRead } from '../../../store/as-read.ts';
import { aside } from '../../../store/aside.ts';
import { bodyLength } from '../../../store/body-length.ts';
import { build, type Db, prepared } from '../../../store/database.ts';
import { preparedHold } from '../../../store/held.ts';
import { keyPages } from '../../../store/key-page.ts';
import type { ApproleRoleRow, ApproleSecretIdRow } from '../../../store/tables.ts';
import { type Write, write } from '../../../store/write.ts';
import { type Approle, storedApprole } from './role.ts';
import type { SecretId, SecretIdBody } from './secret-id.ts';

/** What a role is kept under. */
export interface RoleKey {
  mount_id: string;
  name: string;
}

export interface StoredApprole {
  name: string;
  role_id: string;
  /** Null for an older one that has to share its key with another, until it is written. */
  role_id_key: string | null;
  /** Of what is kept; by that and its ID a write set can tell that it still is the same. */
  body_tag: string;
  rules: Approle;
}

/** Refuses its write set unless a role is what it was when it was read. */
export function holdApprole(
  { mount_id, name }: RoleKey,
  { role_id, body_tag }: Pick<StoredApprole, 'role_id' | 'body_tag'>,
): Write {
  return holdAsRead('approle_role', { key: { mount_id, name }, read: { role_id, body_tag } });
}

/** Refuses its write set unless a secret ID is there, and the same. */
export const holdSecretId = preparedHold<{ id: string; accessor: string }>(
  (from, { id, accessor }) =>
    from
      .selectFrom('approle_secret_id')
      .select('id')
      .where('id', '=', id)
      .where('accessor', '=', accessor)
      .forKeyShare(),
  { rows: 1 },
);

export async function findApprole(db: Db, key: RoleKey): Promise<StoredApprole | undefined> {
  const row = await db
    .selectFrom('approle_role')
    .selectAll()
    .where('mount_id', '=', key.mount_id)
    .where('name', '=', key.name)
    .executeTakeFirst();
  return row && roleOf(row);
}

export async function findApproleById(
  db: Db,
  mount_id: string,
  role_id: string,
): Promise<StoredApprole | undefined> {
  const row = await db
    .selectFrom('approle_role')
    .selectAll()
    .where('mount_id', '=', mount_id)
    .where('role_id', '=', role_id)
    .executeTakeFirst();
  return row && roleOf(row);
}

/** The IDs of a mount's other roles that may fold to the same as one does. */
export async function listIdsLike(db: Db, key: RoleKey, role_id_key: string): Promise<string[]> {
  const rows = await db
    .selectFrom('approle_role')
    .select('role_id')
    .where('mount_id', '=', key.mount_id)
    .where('name', '!=', key.name)
    .where((row) => row.or([row('role_id_key', '=', role_id_key), row('role_id_key', 'is', null)]))
    .execute();
  return rows.map((row) => row.role_id);
}

/** How many bytes a role has as it is kept; none where there is none. */
export const measureApprole = bodyLength('approle_role', ['mount_id', 'name']);

/** Names of a mount's roles, a page of them. */
export const listApproles = keyPages('approle_role', 'name', ['mount_id']);

/**
 * @param read the role as it was read, undefined where there was none
 * @param next.role_id_key null where another older one has that key: such roles stay as they are
 */
export function saveApprole(
  { mount_id, name }: RoleKey,
  read: StoredApprole | undefined,
  next: Pick<StoredApprole, 'role_id' | 'role_id_key' | 'rules'>,
): Write {
  const { rules, role_id, role_id_key } = next;
  return saveAsRead('approle_role', {
    key: { mount_id, name },
    read: read && { role_id: read.role_id, body_tag: read.body_tag },
    next: { role_id, role_id_key, body: JSON.stringify(rules) },
  });
}

/** Its secret IDs go with it. */
export function deleteApprole({ mount_id, name }: RoleKey, read: StoredApprole): Write {
  const { role_id, body_tag } = read;
  return deleteAsRead('approle_role', { key: { mount_id, name }, read: { role_id, body_tag } });
}

export async function findSecretId(db: Db, id: string): Promise<SecretId | undefined> {
  const row = await db
    .selectFrom('approle_secret_id')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst();
  return row && secretIdOf(row);
}

/**
 * A page of the secret IDs of a role by their accessors, those that nobody can use included: at most as many
 * as may be read at once.
 */
export async function listSecretIds(
  db: Db,
  { mount_id, name }: RoleKey,
  { after, limit }: { after: string; limit: number },
): Promise<{ rows: SecretId[]; more: boolean }> {
  const { rows, more } = await ofRole.some(db, { mount_id, name, after, limit }, 'body');
  return { rows: rows.map(secretIdOf), more: more || rows.length >= limit };
}

const ofRole = prepared<
  { mount_id: string; name: string; after: string; limit: number },
  ApproleSecretIdRow
>((from, p) =>
  from
    .selectFrom('approle_secret_id')
    .selectAll()
    .where('mount_id', '=', p.mount_id)
    .where('role', '=', p.name)
    .where('accessor', '>', p.after)
    .orderBy('accessor')
    .limit(p.limit),
);

/** Ids of secret IDs of a role, in no order. */
export async function listIdsOfRole(
  db: Db,
  { mount_id, name }: RoleKey,
  limit: number,
): Promise<string[]> {
  const of = db.selectFrom('approle_secret_id').select('id').where('mount_id', '=', mount_id);
  return (await of.where('role', '=', name).limit(limit).execute()).map(({ id }) => id);
}

/** Secret IDs that one write set deletes. */
export const DELETED_AT_ONCE = 500;

/** Deletes those of some secret IDs that are a role's: a text may be another's by now. */
export function deleteSecretIdsOfRole({ mount_id, name }: RoleKey, ids: readonly string[]): Write {
  const of = build.deleteFrom('approle_secret_id').where('id', 'in', ids);
  return write(of.where(aside('mount_id'), '=', mount_id).where(aside('role'), '=', name));
}

/** Ids of secret IDs that have run out, the longest ago first. */
export async function listExpiredSecretIds(db: Db, now: number, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('approle_secret_id')
    .select('id')
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(limit)
    .execute();
  return rows.map(({ id }) => id);
}

/** Deletes those of some secret IDs that have run out: a text may be in use again meanwhile. */
export function deleteExpiredSecretIds(ids: readonly string[], now: number): Write {
  const expired = build.deleteFrom('approle_secret_id').where('expires_at', '<=', now);
  return write(expired.where('id', 'in', ids));
}

export async function findSecretIdByAccessor(
  db: Db,
  accessor: string,
): Promise<SecretId | undefined> {
  const row = await db
    .selectFrom('approle_secret_id')
    .selectAll()
    .where('accessor', '=', accessor)
    .executeTakeFirst();
  return row && secretIdOf(row);
}

export function insertSecretId(secret: SecretId): Write {
  const { id, accessor, mount_id, role, expires_at, uses_left, ...body } = secret;
  return write(
    build.insertInto('approle_secret_id').values({
      id,
      accessor,
      mount_id,
      role,
      expires_at: expires_at ?? null,
      uses_left,
      body: JSON.stringify(body satisfies SecretIdBody),
    }),
    { rows: 1, conflict: 'the secret ID exists already, or its role does not' },
  );
}

/** Takes one of the log-ins of a counted secret ID; refuses the set when none is left. */
export function useSecretId(
  { id, accessor }: Pick<SecretId, 'id' | 'accessor'>,
  conflict: string,
): Write {
  return write(
    build
      .updateTable('approle_secret_id')
      .set((row) => ({ uses_left: row('uses_left', '-', 1) }))
      .where('id', '=', id)
      .where('accessor', '=', accessor)
      .where('uses_left', '>', 0),
    { rows: 1, conflict },
  );
}

/** Deletes a counted secret ID that has no log-in left; stands behind {@link useSecretId}. */
export function deleteSpentSecretId({ id, accessor }: Pick<SecretId, 'id' | 'accessor'>): Write {
  return write(
    build
      .deleteFrom('approle_secret_id')
      .where('id', '=', id)
      .where('accessor', '=', accessor)
      .where('uses_left', '=', 0),
  );
}

/** By both, since the text that the id is made of may be another's by now. */
export function deleteSecretId({ id, accessor }: Pick<SecretId, 'id' | 'accessor'>): Write {
  return write(
    build.deleteFrom('approle_secret_id').where('id', '=', id).where('accessor', '=', accessor),
  );
}

function roleOf({
  mount_id: _mount,
  body,
  ...row
}: ApproleRoleRow & { body_tag: string }): StoredApprole {
  return { ...row, rules: storedApprole.parse(JSON.parse(body)) };
}

function secretIdOf(row: ApproleSecretIdRow): SecretId {
  const { body, expires_at, ...keys } = row;
  const fixed: SecretIdBody = JSON.parse(body);
  return { ...fixed, ...keys, expires_at: expires_at ?? undefined };
}
