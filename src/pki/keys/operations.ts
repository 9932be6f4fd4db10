import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { askerOf } from '../../access/concurrency/operations.ts';
import { refuseDenied } from '../../access/standing/operations.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { Answer } from '../../app/route.ts';
import type { Place } from '../../barrier/envelope.ts';
import { Failure } from '../../core/failure.ts';
import type { Write } from '../../store/write.ts';
import { isCheap, type SignatureAlgorithm, signAsync, signSync } from '../../x509/algorithms.ts';
import {
  assembleSigned,
  encodeTbsCertificate,
  MAX_CERTIFICATE_BYTES,
  type TbsCertificate,
} from '../../x509/certificate.ts';
import {
  CURVE_NAME,
  ecPublicKeyInfo,
  findCurve,
  type KeyDescription,
  keyIdentifier,
  publicKeyInfo,
} from '../../x509/keys.ts';
import { lintTbsCertificate } from '../../x509/lint.ts';
import { encodeBareEcKey, encodePrivateKey, exportPrivateKey } from '../../x509/private-keys.ts';
import { formatColonHex } from '../../x509/serial.ts';
import type { HandedOutKey } from '../certificates/answer.ts';
import { resolveKeyParameters } from '../fields/key-parameters.ts';
import { resolveKey } from '../mount-state/authority.ts';
import { checkName, checkNewName, type Key } from '../mount-state/key.ts';
import { deleteKey, findSealedKey, insertKey, saveKeyName } from '../mount-state/keys.store.ts';
import { changeAuthority, readAuthority } from '../mount-state/operations.ts';
import { ownPaths, RENAMED } from '../mount-state/own-paths.ts';
import { requireRoomForKey } from '../mount-state/room.ts';
import { takeRsaKey } from './jobs.ts';
import { takeP256Key } from './p256.pool.ts';

/** A key that was just made and is kept nowhere yet. */
export interface FreshKey extends KeyDescription {
  private_key: KeyObject;
  /** SubjectPublicKeyInfo, DER. */
  public_key: Uint8Array;
}

/** Makes a key. @param wanted a size that `resolveKeyParameters` has resolved */
export async function generateKey(
  app: App,
  caller: Caller,
  wanted: KeyDescription,
): Promise<FreshKey> {
  const private_key = await generatePrivateKey(app, caller, wanted);
  return { ...wanted, private_key, public_key: publicKeyInfo(private_key) };
}

/**
 * Makes a key that leaves with the answer and is neither used nor kept here.
 *
 * @param wanted as {@link generateKey}
 * @returns public_key: SubjectPublicKeyInfo, DER
 */
export async function generateKeyToHandOut(
  app: App,
  caller: Caller,
  wanted: KeyDescription,
): Promise<{ public_key: Uint8Array; private_key: HandedOutKey }> {
  const { key_type } = wanted;
  if (key_type === 'ec' && wanted.key_bits === 256) {
    const bare = takeP256Key(app);
    return {
      public_key: ecPublicKeyInfo(256, bare.point),
      private_key: { key_type, encode: (form) => encodeBareEcKey(bare, form) },
    };
  }
  const { private_key, public_key } = await generateKey(app, caller, wanted);
  return {
    public_key,
    private_key: { key_type, encode: (form) => encodePrivateKey(private_key, form) },
  };
}

async function generatePrivateKey(
  app: App,
  caller: Caller,
  wanted: KeyDescription,
): Promise<KeyObject> {
  switch (wanted.key_type) {
    case 'rsa':
      return takeRsaKey(app, askerOf(caller), wanted.key_bits, caller.aside);
    case 'ed25519':
      return generateKeyPairSync('ed25519').privateKey;
    case 'ec': {
      const curve = findCurve(wanted.key_bits);
      if (!curve) throw new Error(`no curve of ${wanted.key_bits} bits`);
      return generateKeyPairSync('ec', { namedCurve: CURVE_NAME[curve] }).privateKey;
    }
  }
}

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
  const sealed = app.barrier.seal('pki-key', placeOf(mount_id, key.id), plain);
  plain.fill(0);
  return { key, insert: insertKey(mount_id, key, sealed) };
}

function placeOf(mount_id: string, id: string): Place {
  return { table: 'pki_key', column: 'private_key_sealed', row: `${mount_id}/${id}` };
}

/**
 * Opened keys by what was read of each, held until the server is sealed or that is read anew: of a key
 * that was deleted, or whose mount is gone, nothing stays in memory.
 */
const openKeys = perApp((app) => {
  const kept = { keys: new WeakMap<Key, KeyObject>() };
  app.barrier.onLock(() => {
    kept.keys = new WeakMap();
  });
  return kept;
});

async function openKey(app: App, mount_id: string, of: Key): Promise<KeyObject> {
  const { keys } = openKeys(app);
  const known = keys.get(of);
  if (known) return known;
  const { id } = of;
  const sealed = await findSealedKey(app.db, mount_id, id);
  if (!sealed) throw new Failure('unresolved', `unable to find PKI key for reference: ${id}`);
  const plain = app.barrier.open('pki-key', placeOf(mount_id, id), sealed);
  const key = createPrivateKey({ key: Buffer.from(plain), format: 'der', type: 'pkcs8' });
  plain.fill(0);
  keys.set(of, key);
  return key;
}

/**
 * A stored key, opened, for a signature that is made elsewhere in this process.
 *
 * @throws Failure `unavailable` while the server is sealed
 */
export function requireSigningKey(app: App, mount_id: string, key: Key): Promise<KeyObject> {
  return openKey(app, mount_id, key);
}

/**
 * Signs with a stored key: what is quick on the calling thread, the rest in the thread pool.
 *
 * @throws Failure `unavailable` while the server is sealed
 */
export async function signWithKey(
  app: App,
  mount_id: string,
  key: Key,
  algorithm: SignatureAlgorithm,
  data: Uint8Array,
): Promise<Uint8Array> {
  return signWith(await openKey(app, mount_id, key), key, algorithm, data);
}

/** The longest signature, that of an RSA key of 8192 bits, with its algorithm and all lengths. */
const SIGNATURE_ROOM = 2048;

/**
 * Lints a certificate, then signs it.
 *
 * @param most_bytes of the certificate; one that is longer than usual could not be read again
 * @returns DER
 * @throws Failure `invalid` saying what is wrong with the certificate; nothing was signed then
 */
export async function signCertificate(
  tbs: TbsCertificate,
  sign: (algorithm: SignatureAlgorithm, data: Uint8Array) => Uint8Array | Promise<Uint8Array>,
  most_bytes: number = MAX_CERTIFICATE_BYTES,
): Promise<Uint8Array> {
  const problems = lintTbsCertificate(tbs);
  if (problems.length > 0) {
    throw new Failure('invalid', `no valid certificate can be made of this: ${tellSome(problems)}`);
  }
  const data = encodeTbsCertificate(tbs);
  const most = most_bytes - SIGNATURE_ROOM;
  if (data.length > most) {
    throw new Failure(
      'invalid',
      `no valid certificate can be made of this: ${data.length} bytes, at most ${most} are accepted before it is signed`,
    );
  }
  return assembleSigned(data, tbs.signatureAlgorithm, await sign(tbs.signatureAlgorithm, data));
}

/** A certificate of thousands of names can have as many problems. */
function tellSome(problems: readonly string[]): string {
  const told = problems.slice(0, MOST_TOLD).join('; ');
  return problems.length > MOST_TOLD ? `${told}; and ${problems.length - MOST_TOLD} more` : told;
}

const MOST_TOLD = 5;

/** Signs with a key that is at hand. */
export function signWith(
  private_key: KeyObject,
  description: KeyDescription,
  algorithm: SignatureAlgorithm,
  data: Uint8Array,
): Uint8Array | Promise<Uint8Array> {
  return isCheap(description)
    ? signSync(private_key, algorithm, data)
    : signAsync(private_key, algorithm, data);
}

export async function listKeyInfo(app: App, caller: Caller): Promise<Answer<KeyList>> {
  const { keys, defaults } = await readAuthority(app, caller.mount.id);
  if (keys.size === 0) throw new Failure('not_found', '');
  const key_info: KeyList['key_info'] = {};
  for (const { id, name } of keys.values()) {
    key_info[id] = { is_default: id === defaults.default_key, key_name: name };
  }
  return { data: { key_info, keys: [...keys.keys()] } };
}

interface KeyList {
  keys: string[];
  key_info: Record<string, { is_default: boolean; key_name: string }>;
}

export async function readKey(app: App, caller: Caller, input: { key_ref: string }) {
  const key = resolveKey(await readAuthority(app, caller.mount.id), input.key_ref);
  return {
    data: {
      ...describeKey(key),
      subject_key_id: formatColonHex(keyIdentifier(key.public_key)),
    },
  };
}

interface KeyFacts {
  key_id: string;
  key_name: string;
  key_type: string;
}

function describeKey(key: Key): KeyFacts {
  return { key_id: key.id, key_name: key.name, key_type: key.key_type };
}

/** Names a key anew, or takes its name away. */
export async function updateKey(
  app: App,
  caller: Caller,
  input: { key_ref: string; key_name?: string | undefined },
): Promise<Answer<KeyFacts>> {
  await refuseDenied(caller, ownPaths(caller, 'key', { name: input.key_name }, RENAMED.key));
  return changeAuthority<Answer<KeyFacts>>(app, caller, (authority) => {
    const key = resolveKey(authority, input.key_ref);
    const name = (input.key_name ?? '').trim();
    if (name === key.name) return { effects: [], result: { data: describeKey(key) } };
    if (name !== '') {
      checkName('key', name);
      if ([...authority.keys.values()].some((other) => other.name === name)) {
        throw new Failure('invalid', 'key name already in use');
      }
    }
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
): Promise<Answer<null>> {
  return changeAuthority<Answer<null>>(app, caller, (authority) => {
    const key =
      input.key_ref.toLowerCase() === 'default'
        ? authority.keys.get(authority.defaults.default_key)
        : [...authority.keys.values()].find(({ id, name }) => [id, name].includes(input.key_ref));
    if (!key) return { effects: [], result: {} };
    const users = [...authority.issuers.values()].filter(({ key_id }) => key_id === key.id);
    if (users.length > 0) {
      throw new Failure(
        'invalid',
        `Failed to Delete Key.  Key in Use by Issuer: ${users.map(({ id }) => id).join(', ')}`,
      );
    }
    const effects = [deleteKey(caller.mount.id, key.id)];
    const gone = { effects, spares_issuing: true };
    if (key.id !== authority.defaults.default_key) return { ...gone, defaults: {}, result: {} };
    return {
      ...gone,
      defaults: { default_key: '' },
      result: {
        warnings: [
          `Deleted key ${key.id} (via key_ref ${input.key_ref}); this was configured as the default key. Operations without an explicit key will not work until a new default is configured.`,
        ],
        data: null,
      },
    };
  });
}

interface NewKey {
  exported: 'internal' | 'exported' | 'kms';
  key_name?: string | undefined;
  key_type: 'rsa' | 'ec' | 'ed25519';
  key_bits: number;
}

/** Makes a key and keeps it; the private part is answered only if it shall be `exported`. */
export async function generateStoredKey(app: App, caller: Caller, input: NewKey) {
  if (input.exported === 'kms') {
    throw new Failure('invalid', 'managed keys are not available: use internal or exported');
  }
  await refuseDenied(caller, ownPaths(caller, 'key', { name: input.key_name }));
  const { key_bits } = resolveKeyParameters({ ...input, signature_bits: 0 });
  const fresh = await generateKey(app, caller, { key_type: input.key_type, key_bits });
  return changeAuthority(app, caller, (authority) => {
    requireRoomForKey(authority);
    const names = new Set([...authority.keys.values()].map(({ name }) => name));
    const name = checkNewName('key', input.key_name, (wanted) => names.has(wanted));
    const { key, insert } = sealKey(app, caller.mount.id, fresh, name);
    caller.record.outcome.key_id = key.id;
    return {
      effects: [insert],
      spares_issuing: true,
      defaults: authority.keys.size === 0 ? { default_key: key.id } : {},
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
