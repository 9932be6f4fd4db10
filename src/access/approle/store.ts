import { build, type Db } from '../../store/database.ts';
import { preparedHold } from '../../store/held.ts';
import type { ApproleSecretIdRow } from '../../store/tables.ts';
import { type Write, write } from '../../store/write.ts';
import { type Approle, approleSchema } from './role.ts';
import type { SecretId, SecretIdBody } from './secret-id.ts';

/** What a role is kept under. */
export interface RoleKey {
  mount_id: string;
  name: string;
}

export interface StoredApprole {
  name: string;
  role_id: string;
  rules: Approle;
}

/** Refuses its write set unless a role is what it was when it was read. */
export const holdApprole = preparedHold<{
  mount_id: string;
  name: string;
  role_id: string;
  body: string;
}>(
  (from, p) =>
    from
      .selectFrom('approle_role')
      .select('name')
      .where('mount_id', '=', p.mount_id)
      .where('name', '=', p.name)
      .where('role_id', '=', p.role_id)
      .where('body', '=', p.body)
      .forShare(),
  { rows: 1 },
);

/** Refuses its write set unless a secret ID is there. */
export const holdSecretId = preparedHold<{ id: string }>(
  (from, { id }) =>
    from.selectFrom('approle_secret_id').select('id').where('id', '=', id).forKeyShare(),
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
): Promise<(StoredApprole & { body: string }) | undefined> {
  const row = await db
    .selectFrom('approle_role')
    .selectAll()
    .where('mount_id', '=', mount_id)
    .where('role_id', '=', role_id)
    .executeTakeFirst();
  return row && { ...roleOf(row), body: row.body };
}

/** The IDs of a mount's roles but one. */
export async function listOtherRoleIds(db: Db, key: RoleKey): Promise<string[]> {
  const rows = await db
    .selectFrom('approle_role')
    .select('role_id')
    .where('mount_id', '=', key.mount_id)
    .where('name', '!=', key.name)
    .execute();
  return rows.map((row) => row.role_id);
}

export async function listApproles(db: Db, mount_id: string): Promise<string[]> {
  const rows = await db
    .selectFrom('approle_role')
    .select('name')
    .where('mount_id', '=', mount_id)
    .orderBy('name')
    .execute();
  return rows.map((row) => row.name);
}

export function saveApprole(mount_id: string, role: StoredApprole): Write {
  const { name, role_id } = role;
  const body = JSON.stringify(role.rules);
  return write(
    build
      .insertInto('approle_role')
      .values({ mount_id, name, role_id, body })
      .onConflict((clash) => clash.columns(['mount_id', 'name']).doUpdateSet({ role_id, body })),
    { rows: 1, conflict: 'role_id is in use by another role' },
  );
}

/** Its secret IDs go with it. */
export function deleteApprole(key: RoleKey): Write {
  return write(
    build
      .deleteFrom('approle_role')
      .where('mount_id', '=', key.mount_id)
      .where('name', '=', key.name),
  );
}

export async function findSecretId(db: Db, id: string): Promise<SecretId | undefined> {
  const row = await db
    .selectFrom('approle_secret_id')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst();
  return row && secretIdOf(row);
}

export async function listSecretIds(db: Db, key: RoleKey): Promise<SecretId[]> {
  const rows = await db
    .selectFrom('approle_secret_id')
    .selectAll()
    .where('mount_id', '=', key.mount_id)
    .where('role', '=', key.name)
    .orderBy('accessor')
    .execute();
  return rows.map(secretIdOf);
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
export function useSecretId(id: string, conflict: string): Write {
  return write(
    build
      .updateTable('approle_secret_id')
      .set((row) => ({ uses_left: row('uses_left', '-', 1) }))
      .where('id', '=', id)
      .where('uses_left', '>', 0),
    { rows: 1, conflict },
  );
}

export function deleteSecretId(id: string): Write {
  return write(build.deleteFrom('approle_secret_id').where('id', '=', id));
}

function roleOf(row: { name: string; role_id: string; body: string }): StoredApprole {
  const { name, role_id, body } = row;
  return { name, role_id, rules: approleSchema.parse(JSON.parse(body)) };
}

function secretIdOf(row: ApproleSecretIdRow): SecretId {
  const { body, expires_at, ...keys } = row;
  const fixed: SecretIdBody = JSON.parse(body);
  return { ...fixed, ...keys, expires_at: expires_at ?? undefined };
}
