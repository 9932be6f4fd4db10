import { refuseDenied, refuseDeniedNow } from '../../access/standing/operations.ts';
import { pathOfName } from '../../acl/name-form.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import { presentMount } from '../../mounts/operations.ts';
import type { Effect } from '../../store/write.ts';
import { judgeUse, type StoredManagedKey } from '../../system/managed-keys/managed-key.ts';
import { readManagedKeys } from '../../system/managed-keys/operations.ts';
import { type ManagedPair, preparePair } from '../../system/managed-keys/signing.operations.ts';
import { holdManagedKey } from '../../system/managed-keys/store.ts';
import { checkNewName, type Key } from '../mount-state/key.ts';
import { insertKey } from '../mount-state/keys.store.ts';
import { ownPaths } from '../mount-state/own-paths.ts';
import { requireRoomForKey } from '../mount-state/room.ts';
import type { MountState } from '../mount-state/state.ts';

/** A managed key that a request names, and what its device has. */
export interface TakenKey {
  pair: ManagedPair;
  managed: StoredManagedKey;
}

interface ManagedKeyRequest {
  managed_key_name?: string | undefined;
  managed_key_id?: string | undefined;
  key_type?: string | undefined;
  key_bits?: number | undefined;
}

/**
 * Finds the managed key that a request of type `kms` names, and its pair in the device, where one is made if that is
 * allowed.
 *
 * @throws Failure `invalid` unless exactly one of name and id is given, and no type or size; for a key that the mount may
 *   not use; `unavailable` where the device cannot be reached
 */
export async function takeManagedKey(
  app: App,
  caller: Caller,
  request: ManagedKeyRequest,
): Promise<TakenKey> {
  const { managed_key_name = '', managed_key_id = '', key_type, key_bits } = request;
  if (key_type !== undefined || key_bits !== undefined) {
    throw invalid(
      'invalid parameter for the kms/existing path parameter, key_type nor key_bits arguments can be set in this mode',
    );
  }
  if ((managed_key_name === '') === (managed_key_id === '')) {
    throw invalid('exactly one of managed_key_name and managed_key_id must be given');
  }
  const keys = await readManagedKeys(app);
  const managed =
    managed_key_id === ''
      ? [...keys.values()].find(({ name }) => name === managed_key_name.toLowerCase())
      : keys.get(managed_key_id.toLowerCase());
  const { name = managed_key_name.toLowerCase() } = managed ?? {};
  // Whoever may not ask for a managed key at its own path is not told whether there is one.
  if (name !== '') {
    await refuseDenied(caller, [pathOfName('sys/managed-keys/pkcs11/', name, 'lower_case')]);
  }
  if (!managed) throw invalid('there is no managed key of that name or id');
  const because = judgeUse(managed, await presentMount(app, caller.mount));
  if (because !== undefined) throw invalid(because);
  return { managed, pair: await preparePair(app, caller, managed) };
}

/** The key of the mount that stands for a managed one: the one that does already, or a new one. */
export async function planTakenKey(
  app: App,
  caller: Caller,
  mountState: MountState,
  { taken, key_name }: { taken: TakenKey; key_name: string | undefined },
): Promise<{ key: Key; effects: Effect[] }> {
  const { managed, pair } = taken;
  const isSame = Buffer.from(pair.public_key);
  const known = [...mountState.keys.values()].find(
    ({ managed_key_id, public_key }) =>
      managed_key_id === managed.uuid && isSame.equals(public_key),
  );
  if (known) {
    await refuseDeniedNow(caller, ownPaths(caller, 'key', known));
    return { key: known, effects: [] };
  }
  requireRoomForKey(mountState);
  const name = checkNewName('key', key_name, mountState.keys);
  const key: Key = { id: app.newId(), name, ...pair, managed_key_id: managed.uuid };
  // Neither is it forgotten meanwhile, nor does it say something else.
  const insert = insertKey(caller.mount.id, key, new Uint8Array(0));
  return { key, effects: [holdManagedKey(managed), insert] };
}

/** By what name a key's managed one goes; undefined: the server has the key itself. */
export async function describeManagedKey(
  app: App,
  { managed_key_id }: Key,
): Promise<{ managed_key_id?: string; managed_key_name?: string }> {
  if (managed_key_id === undefined) return {};
  const managed = (await readManagedKeys(app)).get(managed_key_id);
  return { managed_key_id, managed_key_name: managed?.name ?? '' };
}
