import type { App } from '../app/app.ts';
import { KEY_LENGTH, NONCE_LENGTH } from '../barrier/envelope.ts';
import type { Pkcs11Seal, SealSettings, TransitSeal } from '../config/seal-settings.ts';
import { Failure } from '../core/failure.ts';
import { findOrMakeKey } from '../pkcs11/first-keys.operations.ts';
import { askModule } from '../pkcs11/operations.ts';
import { createKeyFile, readKeyFile } from './key-file.store.ts';
import type { Seal } from './seal.ts';
import { decryptByTransit, encryptByTransit, versionOfWrapped } from './transit.client.ts';

/** A seal key, and what is stored of it. Whoever has it wipes it. */
export interface MadeSealKey {
  seal_key: Uint8Array;
  seal_key_wrapped: Uint8Array | null;
}

/**
 * Makes the seal key of a new seal; that of a key file is the one in it.
 *
 * @throws Failure `unavailable` where the device or server that is to encrypt it cannot be reached
 */
export async function makeSealKey(app: App, settings: SealSettings): Promise<MadeSealKey> {
  switch (settings.type) {
    case 'shamir':
      return { seal_key: app.randomBytes(KEY_LENGTH), seal_key_wrapped: null };
    case 'keyfile':
      return { seal_key: obtainKeyFile(app, settings.path), seal_key_wrapped: null };
    case 'pkcs11':
      await requireDeviceKey(app, settings);
      return makeWrapped(app, (seal_key) => wrapByDevice(app, settings, seal_key));
    case 'transit':
      return makeWrapped(app, (seal_key) => wrapByTransit(settings, seal_key));
  }
}

async function makeWrapped(
  app: App,
  wrap: (seal_key: Uint8Array) => Promise<Uint8Array>,
): Promise<MadeSealKey> {
  const seal_key = app.randomBytes(KEY_LENGTH);
  try {
    return { seal_key, seal_key_wrapped: await wrap(seal_key) };
  } catch (error) {
    seal_key.fill(0);
    throw error;
  }
}

async function wrapByTransit(settings: TransitSeal, seal_key: Uint8Array): Promise<Uint8Array> {
  const wrapped = await encryptByTransit(settings, seal_key);
  await requireOpens(settings, wrapped, seal_key);
  return wrapped;
}

async function requireOpens(
  settings: TransitSeal,
  wrapped: Uint8Array,
  seal_key: Uint8Array,
): Promise<void> {
  const opened = await decryptByTransit(settings, wrapped);
  const isSame = Buffer.from(seal_key).equals(opened);
  opened.fill(0);
  // Rather now than at the next start.
  if (isSame) return;
  throw new Failure('unavailable', 'the transit engine gives another key back than it was given');
}

/**
 * The seal key as the newest version of the engine's key encrypts it, so that older ones may be given up.
 *
 * @returns undefined where what is stored is of that version already
 * @throws Failure `unavailable`
 */
export async function wrapByNewest(
  settings: TransitSeal,
  wrapped: Uint8Array,
  seal_key: Uint8Array,
): Promise<Uint8Array | undefined> {
  const fresh = await encryptByTransit(settings, seal_key);
  const [before, now] = [versionOfWrapped(wrapped), versionOfWrapped(fresh)];
  if (before === undefined || now === undefined || now <= before) return undefined;
  await requireOpens(settings, fresh, seal_key);
  return fresh;
}

/**
 * The seal key of a seal that opens by itself.
 *
 * @throws Failure `unavailable` where it cannot be had
 */
export async function openSealKey(
  app: App,
  seal: Pick<Seal, 'seal_key_wrapped'>,
  settings: SealSettings,
): Promise<Uint8Array> {
  if (settings.type === 'keyfile') {
    const seal_key = readKeyFile(settings.path);
    if (seal_key !== undefined) return seal_key;
    throw new Failure(
      'unavailable',
      `the key file "${settings.path}" is missing: put its copy back`,
    );
  }
  const { seal_key_wrapped: wrapped } = seal;
  if (settings.type === 'shamir' || wrapped === null) {
    throw new Failure('unavailable', 'the seal has no key that opens it by itself');
  }
  if (settings.type === 'transit') return decryptByTransit(settings, wrapped);
  const [iv, data] = [wrapped.subarray(0, NONCE_LENGTH), wrapped.subarray(NONCE_LENGTH)];
  const place = deviceOrder(settings);
  const opened = await askModule(app, settings.library, {
    ...{ kind: 'decrypt', ...place, gcm: { iv, aad: PLACE }, data },
  });
  if (opened.type === 'bytes') return opened.bytes;
  throw new Error(`the module answered "${opened.type}"`);
}

/** Why a seal key does not open what it should. */
export function tellWrongKey(settings: SealSettings): string {
  return settings.type === 'keyfile'
    ? `the key file "${settings.path}" is not the one of this data`
    : `the key of the seal "${settings.type}" is not the one of this data`;
}

/** The key in the configured file; a development server makes the file when it is not there. */
function obtainKeyFile(app: App, path: string): Uint8Array {
  const key = readKeyFile(path);
  if (key !== undefined) return key;
  if (app.config.mode !== 'dev') {
    throw new Failure(
      'unavailable',
      `the key file "${path}" is missing: make one of ${KEY_LENGTH} random bytes, as with (umask 077; head -c ${KEY_LENGTH} /dev/urandom > ${path}), and keep a copy elsewhere`,
    );
  }
  const fresh = app.randomBytes(KEY_LENGTH);
  createKeyFile(path, fresh);
  return fresh;
}

/** Bound to the encrypted key, so that the device's key opens nothing else in its place. */
const PLACE = Buffer.from('gatehouse seal key');

const deviceOrder = ({ slot, token_label, pin, key_label }: Pkcs11Seal) => ({
  token: { slot, token_label, pin },
  key: { label: key_label },
});

async function requireDeviceKey(app: App, settings: Pkcs11Seal): Promise<void> {
  const place = deviceOrder(settings);
  const find = async (): Promise<true | undefined> => {
    const found = await askModule(app, settings.library, { kind: 'find secret', ...place });
    return found.type === 'secret' && found.found ? true : undefined;
  };
  if (settings.generate_key) {
    // Nobody has proved anything yet, and many may ask at once, of several nodes.
    await findOrMakeKey(app, {
      find,
      async make() {
        await askModule(app, settings.library, { kind: 'make secret', ...place });
        return true;
      },
    });
    return;
  }
  if (await find()) return;
  throw new Failure(
    'unavailable',
    `the token has no AES key "${settings.key_label}", and seal.generate_key is false`,
  );
}

async function wrapByDevice(
  app: App,
  settings: Pkcs11Seal,
  seal_key: Uint8Array,
): Promise<Uint8Array> {
  const iv = app.randomBytes(NONCE_LENGTH);
  const locked = await askModule(app, settings.library, {
    ...{ kind: 'encrypt', ...deviceOrder(settings), gcm: { iv, aad: PLACE }, data: seal_key },
  });
  if (locked.type !== 'bytes') throw new Error(`the module answered "${locked.type}"`);
  return Buffer.concat([iv, locked.bytes]);
}
