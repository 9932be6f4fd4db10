import { refuseDenied } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { NothingResult } from '../../app/output.ts';
import { invalid } from '../../core/failure.ts';
import { encodePem } from '../../core/pem.ts';
import { type KeyType, keyIdentifier } from '../../x509/keys.ts';
import { formatColonHex } from '../../x509/serial.ts';
import { checkName, describeKey } from '../mount-state/key.ts';
import { deleteKey, saveKeyName } from '../mount-state/keys.store.ts';
import { changeMountState, readMountState } from '../mount-state/operations.ts';
import { ownPaths, RENAMED } from '../mount-state/own-paths.ts';
import { type ListedPage, requirePage, resolveKey } from '../mount-state/state.ts';
import { parseKeySource, prepareKey } from './key-source.operations.ts';
import { describeManagedKey } from './managed-keys.operations.ts';

/** All keys in order of their ids, or one page of them. @see P-241 */
export async function listKeyInfo(app: App, caller: Caller, page: ListedPage) {
  const { keys, defaults } = await readMountState(app, caller.mount.id);
  const listed = requirePage(keys, page);
  const key_info: Record<string, { is_default: boolean; key_name: string }> = {};
  for (const { id, name } of listed) {
    key_info[id] = { is_default: id === defaults.default_key, key_name: name };
  }
  return { data: { key_info, keys: listed.map(({ id }) => id) } };
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
  key_type?: KeyType | undefined;
  key_bits?: number | undefined;
  managed_key_name?: string | undefined;
  managed_key_id?: string | undefined;
}

/** Makes a key and keeps it; the private part is answered only if it shall be `exported`. */
export async function generateStoredKey(app: App, caller: Caller, input: NewKey) {
  const request = { ...input, key_ref: '', signature_bits: 0 };
  const prepared = await prepareKey(app, caller, parseKeySource(input.exported), request);
  return changeMountState(app, caller, async (mountState) => {
    const { key, effects } = await prepared.choose(mountState);
    caller.record.outcome.key_id = key.id;
    const made = prepared.handed_out?.encode('traditional');
    return {
      effects,
      spares_issuing: true,
      defaults: mountState.keys.size === 0 ? { default_key: key.id } : {},
      result: {
        data: {
          ...describeKey(key),
          ...(made && { private_key: encodePem(made.label, made.der) }),
        },
      },
    };
  });
}
