import { build, type Db } from '../../store/database.ts';
import { inBlocks } from '../../store/in-blocks.ts';
import { keyPages } from '../../store/key-page.ts';
import { type Write, write } from '../../store/write.ts';

/** A policy as it was written. */
export interface StoredPolicy {
  name: string;
  body: string;
  /** 1 for a new policy; grows by one with each write. */
  version: number;
  /** Unix seconds. */
  modified_at: number;
}

export async function findPolicy(db: Db, name: string): Promise<StoredPolicy | undefined> {
  return db.selectFrom('policy').selectAll().where('name', '=', name).executeTakeFirst();
}

/** Those of the named policies that exist, by name. */
export async function listPoliciesNamed(db: Db, names: readonly string[]): Promise<StoredPolicy[]> {
  return inBlocks(names.toSorted(), (some) =>
    db.selectFrom('policy').selectAll().where('name', 'in', some).orderBy('name').execute(),
  );
}

/** How many bytes the texts of the named policies have, without reading them. */
export async function measurePolicies(db: Db, names: readonly string[]): Promise<number> {
  const rows = await inBlocks(names, (some) =>
    db
      .selectFrom('policy')
      .select((row) => row.fn<number | bigint>('octet_length', ['body']).as('bytes'))
      .where('name', 'in', some)
      .execute(),
  );
  return rows.reduce((sum, { bytes }) => sum + Number(bytes), 0);
}

/** Those of some names that a policy goes by. */
export async function listKnownNames(db: Db, names: readonly string[]): Promise<string[]> {
  const rows = await inBlocks(names, (some) =>
    db.selectFrom('policy').select('name').where('name', 'in', some).execute(),
  );
  return rows.map((row) => row.name);
}

export const listPolicyNames = keyPages('policy', 'name');

export function savePolicy(policy: Omit<StoredPolicy, 'version'>): Write {
  const { body, modified_at } = policy;
  return write(
    build
      .insertInto('policy')
      .values({ ...policy, version: 1 })
      .onConflict((clash) =>
        clash
          .column('name')
          .doUpdateSet((row) => ({ body, modified_at, version: row('policy.version', '+', 1) })),
      ),
    { rows: 1 },
  );
}

export function deletePolicy(name: string): Write {
  return write(build.deleteFrom('policy').where('name', '=', name));
}
