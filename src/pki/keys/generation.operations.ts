import { generateKeyPair, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { askerOf, makeKeyInTurn } from '../../access/concurrency/operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import {
  CURVE_NAME,
  ecPublicKeyInfo,
  findCurve,
  type KeyDescription,
  publicKeyInfo,
} from '../../x509/keys.ts';
import { type ParameterSet, parameterSetOf } from '../../x509/post-quantum.ts';
import { encodeBareEcKey, encodePrivateKey } from '../../x509/private-keys.ts';
import type { HandedOutKey } from '../certificates/answer.ts';
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
  const fresh = await generateKey(app, caller, wanted);
  return { public_key: fresh.public_key, private_key: handOut(fresh) };
}

export const handOut = ({ key_type, private_key }: FreshKey): HandedOutKey => ({
  key_type,
  encode: (form) => encodePrivateKey(private_key, form),
});

async function generatePrivateKey(
  app: App,
  caller: Caller,
  wanted: KeyDescription,
): Promise<KeyObject> {
  const { key_type, key_bits } = wanted;
  switch (key_type) {
    case 'rsa':
      return takeRsaKey(app, askerOf(caller), wanted.key_bits, caller.aside);
    case 'ed25519':
      return generateKeyPairSync('ed25519').privateKey;
    case 'ec': {
      const curve = findCurve(wanted.key_bits);
      if (!curve) throw new Error(`no curve of ${wanted.key_bits} bits`);
      return generateKeyPairSync('ec', { namedCurve: CURVE_NAME[curve] }).privateKey;
    }
    default:
      return makePostQuantumKey(app, caller, parameterSetOf({ key_type, key_bits }));
  }
}

/** Of ML-DSA a fifth of a millisecond; of SLH-DSA up to a tenth of a second, as long as an RSA key. */
async function makePostQuantumKey(
  app: App,
  caller: Caller,
  { library_type }: ParameterSet,
): Promise<KeyObject> {
  switch (library_type) {
    case 'ml-dsa-44':
    case 'ml-dsa-65':
    case 'ml-dsa-87':
      return generateKeyPairSync(library_type).privateKey;
    default: {
      const make = async () => (await promisify(generateKeyPair)(library_type)).privateKey;
      const take = () => makeKeyInTurn(app, askerOf(caller), make);
      return caller.aside ? caller.aside(take) : take();
    }
  }
}
