import { refuseDenied } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { NothingResult } from '../../app/output.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { keyIdentifier } from '../../x509/keys.ts';
import { exportPrivateKey } from '../../x509/private-keys.ts';
import { formatColonHex } from '../../x509/serial.ts';
import { resolveKeyParameters } from '../fields/key-parameters.ts';
import { checkName, checkNewName, describeKey } from '../mount-state/key.ts';
import { deleteKey, saveKeyName } from '../mount-state/keys.store.ts';
import { changeMountState, readMountState } from '../mount-state/operations.ts';
import { ownPaths, RENAMED } from '../mount-state/own-paths.ts';
import { requireRoomForKey } from '../mount-state/room.ts';
import { resolveKey } from '../mount-state/state.ts';
import { generateKey } from './generation.operations.ts';
import { describeManagedKey, planTakenKey, takeManagedKey } from './managed-keys.operations.ts';
import { sealKey } from './sealed-keys.operations.ts';

export async function listKeyInfo(app: App, caller: Caller) {
  const { keys, defaults } = await readMountState(app, caller.mount.id);
  if (keys.size === 0) throw new Failure('not_found', '');
  const key_info: Record<string, { is_default: boolean; key_name: string }> = {};
  for (const { id, name } of keys.values()) {
    key_info[id] = { is_default: id === defaults.default_key, key_name: name };
  }
  return { data: { key_info, keys: [...keys.keys()] } };
}

export async function readKey(app: App, caller: Caller, input: { key_ref: string }) {
  const key = resolveKey(await readMountState(app, caller.mount.id), input.key_ref);
  return {
    data: {
      ...describeKey(key),
      ...(await describeManagedKey(app, key)),
      subject_key_id: formatColonHex(keyIdentifier(key.public_key)),
    },
  };
}

/** Names a key anew, or takes its name away. */
export async function updateKey(
  app: App,
  caller: Caller,
  input: { key_ref: string; key_name?: string | undefined },
) {
  await refuseDenied(caller, ownPaths(caller, 'key', { name: input.key_name }, RENAMED.key));
  return changeMountState(app, caller, (mountState) => {
    const key = resolveKey(mountState, input.key_ref);
    const name = (input.key_name ?? '').trim();
    if (name === key.name) return { effects: [], result: { data: describeKey(key), warnings: [] } };
    if (name !== '') checkName('key', name, mountState.keys);
    const warnings =
      name === '' ? [`key name "${key.name}" was cleared: refer to the key by its id`] : [];
    return {
      effects: [saveKeyName(caller.mount.id, key.id, name)],
      spares_issuing: true,
      result: { data: describeKey({ ...key, name }), warnings },
    };
  });
}

/** Removes a key that no issuer uses; one that is not there is gone already. @see P-103 */
export async function removeKey(
  app: App,
  caller: Caller,
  input: { key_ref: string },
): Promise<NothingResult> {
  return changeMountState<NothingResult>(app, caller, (mountState) => {
    const key =
      input.key_ref.toLowerCase() === 'default'
        ? mountState.keys.get(mountState.defaults.default_key)
        : [...mountState.keys.values()].find(({ id, name }) => [id, name].includes(input.key_ref));
    if (!key) return { effects: [], result: {} };
    const users = [...mountState.issuers.values()].filter(({ key_id }) => key_id === key.id);
    if (users.length > 0) {
      throw invalid(
        `Failed to Delete Key.  Key in Use by Issuer: ${users.map(({ id }) => id).join(', ')}`,
      );
    }
    const effects = [deleteKey(caller.mount.id, key.id)];
    const gone = { effects, spares_issuing: true };
    if (key.id !== mountState.defaults.default_key) return { ...gone, defaults: {}, result: {} };
    return {
      ...gone,
      defaults: { default_key: '' },
      result: {
        warnings: [
          `Deleted key ${key.id} (via key_ref ${input.key_ref}); this was configured as the default key. Operations without an explicit key will not work until a new default is configured.`,
        ],
      },
    };
  });
}

interface NewKey {
  exported: 'internal' | 'exported' | 'kms';
  key_name?: string | undefined;
  key_type?: 'rsa' | 'ec' | 'ed25519' | undefined;
  key_bits?: number | undefined;
  managed_key_name?: string | undefined;
  managed_key_id?: string | undefined;
}

/** Makes a key and keeps it; the private part is answered only if it shall be `exported`. */
export async function generateStoredKey(app: App, caller: Caller, input: NewKey) {
  await refuseDenied(caller, ownPaths(caller, 'key', { name: input.key_name }));
  if (input.exported === 'kms') return keepManagedKey(app, caller, input);
  const { key_type = 'rsa' } = input;
  const wanted = { key_type, key_bits: input.key_bits ?? 0, signature_bits: 0 };
  const { key_bits } = resolveKeyParameters(wanted);
  const fresh = await generateKey(app, caller, { key_type, key_bits });
  return changeMountState(app, caller, (mountState) => {
    requireRoomForKey(mountState);
    const name = checkNewName('key', input.key_name, mountState.keys);
    const { key, insert } = sealKey(app, caller.mount.id, fresh, name);
    caller.record.outcome.key_id = key.id;
    return {
      effects: [insert],
      spares_issuing: true,
      defaults: mountState.keys.size === 0 ? { default_key: key.id } : {},
      result: {
        data: {
          ...describeKey(key),
          ...(input.exported === 'exported' && {
            private_key: exportPrivateKey(fresh.private_key, 'traditional', 'pem'),
          }),
        },
      },
    };
  });
}

/** Keeps a key that stands for one of a device. */
async function keepManagedKey(app: App, caller: Caller, input: NewKey) {
  const taken = await takeManagedKey(app, caller, input);
  return changeMountState(app, caller, async (mountState) => {
    const { key_name } = input;
    const { key, effects } = await planTakenKey(app, caller, mountState, { taken, key_name });
    caller.record.outcome.key_id = key.id;
    return {
      effects,
      spares_issuing: true,
      defaults: mountState.keys.size === 0 ? { default_key: key.id } : {},
      result: { data: describeKey(key) },
    };
  });
}
