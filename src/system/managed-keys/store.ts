import type { z } from 'zod';
import { holdAsRead, saveAsRead } from '../../store/as-read.ts';
import { build, type Db } from '../../store/database.ts';
import { holdRoom } from '../../store/room.ts';
import { type Write, write } from '../../store/write.ts';
import type { PssForm } from '../../x509/keys.ts';
import {
  type ManagedKey,
  MOST_MANAGED_KEYS,
  managedKeySchema,
  type StoredManagedKey,
} from './managed-key.ts';

const settings = managedKeySchema.omit({ uuid: true, name: true, type: true });

/** All managed keys by their ids, in the order of their names. */
export async function listManagedKeys(db: Db): Promise<ReadonlyMap<string, StoredManagedKey>> {
  const rows = await db.selectFrom('managed_key').selectAll().orderBy('name').execute();
  return new Map(
    rows.map(({ id, name, body, pin_sealed, version }) => {
      const kept = settings.parse(JSON.parse(body));
      return [id, { ...kept, uuid: id, name, type: 'pkcs11' as const, pin_sealed, version }];
    }),
  );
}

/** @param read what was stored under the name; undefined: nothing */
export function saveManagedKey(
  { uuid, name, type, ...kept }: ManagedKey,
  pin_sealed: Uint8Array,
  read: StoredManagedKey | undefined,
): Write {
  const body = JSON.stringify(settings.parse(kept) satisfies z.output<typeof settings>);
  const version = (read?.version ?? 0) + 1;
  return saveAsRead('managed_key', {
    key: { id: uuid },
    read: read && { version: read.version },
    next: { name, type, body, pin_sealed, version },
  });
}

/** What keys of mounts that stand for it sign with: mounts read it with their keys, and notice that it has changed. */
export function savePssForm(uuid: string, pss: PssForm | undefined): Write {
  const form = pss ?? '';
  return write(
    build
      .updateTable('pki_key')
      .set({ pss: form })
      .where('managed_key_id', '=', uuid)
      .where('pss', '<>', form),
  );
}

/** Refuses its write set when there are too many by it. */
export const holdManagedKeyRoom = (): Write =>
  holdRoom('managed_key', MOST_MANAGED_KEYS, 'another managed key took the last room');

const IN_USE = 'the managed key was changed, or taken for a key of a mount, in the meantime';

/** Refused where a key of a mount stands for it. */
export function deleteManagedKey({ uuid, version }: StoredManagedKey): Write {
  return write(
    build
      .deleteFrom('managed_key')
      .where('id', '=', uuid)
      .where('version', '=', version)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom('pki_key').select('id').where('managed_key_id', '=', uuid))),
      ),
    { rows: 1, conflict: IN_USE },
  );
}

/** Refuses its write set where a managed key is another one by now, or gone. */
export function holdManagedKey({
  uuid,
  version,
}: Pick<StoredManagedKey, 'uuid' | 'version'>): Write {
  return holdAsRead('managed_key', { key: { id: uuid }, read: { version } }, IN_USE);
}

/** Whether a key of a mount stands for a managed key. */
export async function isManagedKeyUsed(db: Db, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('pki_key')
    .select('id')
    .where('managed_key_id', '=', id)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
