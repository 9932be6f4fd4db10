import { build, type Db } from '../../../store/database.ts';
import { type Write, write } from '../../../store/write.ts';
import { type TokenRole, tokenRoleSchema } from './role.ts';

export async function findTokenRole(db: Db, name: string): Promise<TokenRole | undefined> {
  const row = await db
    .selectFrom('token_role')
    .select('body')
    .where('name', '=', name)
    .executeTakeFirst();
  return row && tokenRoleSchema.parse(JSON.parse(row.body));
}

export async function listTokenRoles(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('token_role').select('name').orderBy('name').execute();
  return rows.map((row) => row.name);
}

export function saveTokenRole(name: string, role: TokenRole): Write {
  const body = JSON.stringify(role);
  return write(
    build
      .insertInto('token_role')
      .values({ name, body })
      .onConflict((clash) => clash.column('name').doUpdateSet({ body })),
    { rows: 1 },
  );
}

export function deleteTokenRole(name: string): Write {
  return write(build.deleteFrom('token_role').where('name', '=', name));
}
