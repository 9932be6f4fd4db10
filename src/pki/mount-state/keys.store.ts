import { build, type Db, preparedWrite } from '../../store/database.ts';
import { listInPages, PAGE } from '../../store/in-pages.ts';
import type { PkiKeyRow } from '../../store/tables.ts';
import { type Value, type Write, write } from '../../store/write.ts';
import type { PssForm } from '../../x509/keys.ts';
import type { Key } from './key.ts';

const COLUMNS = [
  'id',
  'name',
  'key_type',
  'key_bits',
  'public_key',
  'managed_key_id',
  'pss',
] as const;

/** All keys of a mount, in order of their ids; the private parts stay where they are. */
export async function listKeys(db: Db, mount_id: string): Promise<Key[]> {
  const rows = await listInPages<Pick<PkiKeyRow, (typeof COLUMNS)[number]>>((last) =>
    db
      .selectFrom('pki_key')
      .select(COLUMNS)
      .where('mount_id', '=', mount_id)
      .where('id', '>', last?.id ?? '')
      .orderBy('id')
      .limit(PAGE)
      .execute(),
  );
  return rows.map(({ managed_key_id, pss, ...row }) => {
    const key = row as Omit<Key, 'managed_key_id' | 'pss'>;
    if (managed_key_id === null) return key;
    return { ...key, managed_key_id, ...(pss !== '' && { pss: pss as PssForm }) };
  });
}

/** @returns the private key as it was sealed */
export async function findSealedKey(
  db: Db,
  mount_id: string,
  id: string,
): Promise<Uint8Array | undefined> {
  const row = await db
    .selectFrom('pki_key')
    .select('private_key_sealed')
    .where('mount_id', '=', mount_id)
    .where('id', '=', id)
    .executeTakeFirst();
  return row?.private_key_sealed;
}

const insertRow = preparedWrite(
  (sql, p: PkiKeyRow & Record<string, Value | null>) =>
    sql.insertInto('pki_key').values({
      mount_id: p.mount_id,
      id: p.id,
      name: p.name,
      key_type: p.key_type,
      key_bits: p.key_bits,
      public_key: p.public_key,
      private_key_sealed: p.private_key_sealed,
      managed_key_id: p.managed_key_id,
      pss: p.pss,
    }),
  { rows: 1, conflict: 'key name already in use' },
);

/** Prepared, as an import has a thousand of them. */
export function insertKey(mount_id: string, key: Key, private_key_sealed: Uint8Array): Write {
  const { managed_key_id = null, pss = '', ...facts } = key;
  return insertRow({ mount_id, ...facts, managed_key_id, pss, private_key_sealed });
}

export function saveKeyName(mount_id: string, id: string, name: string): Write {
  return write(
    build
      .updateTable('pki_key')
      .set({ name })
      .where('mount_id', '=', mount_id)
      .where('id', '=', id),
    { rows: 1, conflict: 'key name already in use' },
  );
}

export function deleteKey(mount_id: string, id: string): Write {
  return write(build.deleteFrom('pki_key').where('mount_id', '=', mount_id).where('id', '=', id));
}

export function deleteAllKeys(mount_id: string): Write {
  return write(build.deleteFrom('pki_key').where('mount_id', '=', mount_id));
}
