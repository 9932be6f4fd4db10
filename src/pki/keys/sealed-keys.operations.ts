import { createPrivateKey, type KeyObject } from 'node:crypto';
import { type App, perApp } from '../../app/app.ts';
import type { EnvelopeContext } from '../../barrier/envelope.ts';
import { Failure } from '../../core/failure.ts';
import type { Write } from '../../store/write.ts';
import type { Key } from '../mount-state/key.ts';
import { findSealedKey, insertKey } from '../mount-state/keys.store.ts';
import type { FreshKey } from './generation.operations.ts';

/** Makes the row of a fresh key, its private part sealed for that row alone. */
export function sealKey(
  app: App,
  mount_id: string,
  fresh: FreshKey,
  name: string,
): { key: Key; insert: Write } {
  const { private_key, ...facts } = fresh;
  const key: Key = { id: app.newId(), name, ...facts };
  const plain = private_key.export({ format: 'der', type: 'pkcs8' });
  const sealed = app.barrier.encrypt('pki-key', placeOf(mount_id, key.id), plain);
  plain.fill(0);
  return { key, insert: insertKey(mount_id, key, sealed) };
}

function placeOf(mount_id: string, id: string): EnvelopeContext {
  return { table: 'pki_key', column: 'private_key_sealed', row: `${mount_id}/${id}` };
}

/**
 * Opened keys by what was read of each, held until the server is sealed or that is read anew: of a key
 * that was deleted, or whose mount is gone, nothing stays in memory.
 */
const openKeys = perApp((app) => {
  const kept = { keys: new WeakMap<Key, KeyObject>() };
  app.barrier.onSeal(() => {
    kept.keys = new WeakMap();
  });
  return kept;
});

/** @throws Failure `unavailable` while the server is sealed */
export async function openKey(app: App, mount_id: string, of: Key): Promise<KeyObject> {
  const { keys } = openKeys(app);
  const known = keys.get(of);
  if (known) return known;
  const { id } = of;
  const sealed = await findSealedKey(app.db, mount_id, id);
  if (!sealed) throw new Failure('unresolved', `unable to find PKI key for reference: ${id}`);
  const plain = app.barrier.decrypt('pki-key', placeOf(mount_id, id), sealed);
  const key = createPrivateKey({ key: Buffer.from(plain), format: 'der', type: 'pkcs8' });
  plain.fill(0);
  keys.set(of, key);
  return key;
}
