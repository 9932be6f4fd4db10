import { signInTurn } from '../../access/concurrency/signatures.operations.ts';
import { refuseDenied, refuseDeniedNow } from '../../access/standing/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import type { Effect } from '../../store/write.ts';
import type { SignatureAlgorithm } from '../../x509/algorithms.ts';
import type { KeyDescription } from '../../x509/keys.ts';
import type { HandedOutKey } from '../certificates/answer.ts';
import { KEY_TYPES } from '../fields/key-field-kinds.ts';
import { resolveKeyParameters } from '../fields/key-parameters.ts';
import { checkNewName, type Key } from '../mount-state/key.ts';
import { ownPaths } from '../mount-state/own-paths.ts';
import { requireRoomForKey } from '../mount-state/room.ts';
import { type MountState, resolveKey } from '../mount-state/state.ts';
import { generateKey, handOut } from './generation.operations.ts';
import { planTakenKey, takeManagedKey } from './managed-keys.operations.ts';
import { sealKey } from './sealed-keys.operations.ts';
import { signWith, signWithKey } from './signing.operations.ts';

// Where the key of a root, or of a request for an intermediate, comes from: the `exported` parameter of
// their paths.

const KEY_SOURCES = ['internal', 'exported', 'existing', 'kms'] as const;
export type KeySource = (typeof KEY_SOURCES)[number];

/** What the body says about the key; type and size stay unresolved, since not every source takes them. */
export interface KeyRequest {
  key_name?: string | undefined;
  key_ref: string;
  key_type?: string | undefined;
  key_bits?: number | undefined;
  managed_key_name?: string | undefined;
  managed_key_id?: string | undefined;
  signature_bits: number;
}

/** A key that is at hand, made or not, before the state of the mount has a say. */
export interface PreparedKey {
  /** Of a key whose private part is answered. */
  handed_out: HandedOutKey | undefined;
  /** The key as it is in a state of the mount. */
  choose(mountState: MountState): Promise<ChosenKey>;
}

export interface ChosenKey {
  key: Key;
  /** What makes it known, where it is a new one. */
  effects: readonly Effect[];
  /** When it is the caller's turn. */
  sign(algorithm: SignatureAlgorithm, data: Uint8Array): Promise<Uint8Array>;
}

/** @throws Failure `invalid` for a source that there is not @see P-78 */
export function parseKeySource(exported: string): KeySource {
  const source = KEY_SOURCES.find((one) => one === exported);
  if (!source) {
    throw invalid(
      'the "exported" path parameter must be "internal", "existing", "exported" or "kms"',
    );
  }
  return source;
}

/**
 * Makes the key that was asked for, unless an existing one is to be used. A key that is made has paths of its own,
 * and so has the one that is used.
 *
 * @throws Failure `invalid` for what cannot be made, `forbidden` for a key that the caller is denied
 */
export async function prepareKey(
  app: App,
  caller: Caller,
  source: KeySource,
  request: KeyRequest,
): Promise<PreparedKey> {
  const { key_name, key_ref } = request;
  const named = source === 'existing' ? { ref: key_ref } : { name: key_name };
  await refuseDenied(caller, ownPaths(caller, 'key', named));
  if (source === 'existing') {
    refuseParameters(request);
    return {
      handed_out: undefined,
      choose: (mountState) => chooseExistingKey(app, caller, mountState, key_ref),
    };
  }
  if (source === 'kms') {
    const taken = await takeManagedKey(app, caller, request);
    return {
      handed_out: undefined,
      choose: async (mountState) => {
        const planned = await planTakenKey(app, caller, mountState, { taken, key_name });
        return { ...planned, sign: signerOf(app, caller, planned.key) };
      },
    };
  }
  const fresh = await generateKey(app, caller, planKey(request));
  return {
    handed_out: source === 'exported' ? handOut(fresh) : undefined,
    choose: async (mountState) => {
      requireRoomForKey(mountState);
      const name = checkNewName('key', key_name, mountState.keys);
      const { key, insert } = sealKey(app, caller.mount.id, fresh, name);
      return {
        key,
        effects: [insert],
        sign: (algorithm, data) =>
          signInTurn(app, caller, key, async () =>
            signWith(fresh.private_key, fresh, algorithm, data),
          ),
      };
    },
  };
}

function refuseParameters({ key_type, key_bits }: KeyRequest): void {
  if (key_type === undefined && key_bits === undefined) return;
  throw invalid(
    'invalid parameter for the kms/existing path parameter, key_type nor key_bits arguments can be set in this mode',
  );
}

async function chooseExistingKey(
  app: App,
  caller: Caller,
  mountState: MountState,
  key_ref: string,
): Promise<ChosenKey> {
  const key = resolveKey(mountState, key_ref);
  await refuseDeniedNow(caller, ownPaths(caller, 'key', key));
  return { key, effects: [], sign: signerOf(app, caller, key) };
}

const signerOf =
  (app: App, caller: Caller, key: Key): ChosenKey['sign'] =>
  (algorithm, data) =>
    signInTurn(app, caller, key, () => signWithKey(app, caller.mount.id, key, algorithm, data));

function planKey(request: KeyRequest): KeyDescription {
  const wanted = request.key_type ?? 'rsa';
  const key_type = KEY_TYPES.find((type) => type === wanted);
  if (!key_type) {
    throw invalid(`unknown key type ${wanted.slice(0, 64)}`, {
      fields: { key_type: KEY_TYPES.join(', ') },
    });
  }
  const { key_bits } = resolveKeyParameters({
    key_type,
    key_bits: request.key_bits ?? 0,
    signature_bits: request.signature_bits,
  });
  return { key_type, key_bits };
}
