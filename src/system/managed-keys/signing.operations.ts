import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { askerOf, makeKeyInTurn } from '../../access/concurrency/operations.ts';
import { signInTurn } from '../../access/concurrency/signatures.operations.ts';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import type { NothingResult } from '../../app/output.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { findMountById } from '../../mounts/operations.ts';
import { findOrMakeKey } from '../../pkcs11/first-keys.operations.ts';
import { askModule } from '../../pkcs11/operations.ts';
import {
  type KeyRef,
  type PublicAttributes,
  RefusedOrder,
  type TokenRef,
} from '../../pkcs11/orders.ts';
import { publicKeyInfoOf } from '../../pkcs11/public-key.ts';
import { encodeSignature, prepareSignature } from '../../pkcs11/signature.ts';
import {
  chooseSignatureAlgorithm,
  type SignatureAlgorithm,
  signatureFacts,
  verifyAsync,
} from '../../x509/algorithms.ts';
import { judgeKeyParameters } from '../../x509/key-sizes.ts';
import { describePublicKey, type KeyDescription, kindOf, parsePublicKey } from '../../x509/keys.ts';
import {
  judgeUse,
  keyRefOf,
  mechanismFacts,
  pairKindOf,
  placeOf,
  type StoredManagedKey,
} from './managed-key.ts';
import { openPin, readManagedKeys, requireManagedKey } from './operations.ts';

const tokenOf = (app: App, key: StoredManagedKey) => ({
  ...placeOf(key),
  pin: openPin(app, key),
  force_rw_session: key.force_rw_session,
});

/** The public half of a key that a token has. */
export interface ManagedPair extends KeyDescription {
  /** SubjectPublicKeyInfo, DER. */
  public_key: Uint8Array;
}

/**
 * The pair of a managed key: the one in the token, or one that is made there where the settings allow it. That the
 * private key is the public one's has been shown.
 *
 * @throws Failure `invalid` where there is none, or none that certificates can have; `unavailable` where the token
 *   cannot be reached
 */
export async function preparePair(
  app: App,
  caller: Caller,
  managed: StoredManagedKey,
): Promise<ManagedPair> {
  const aside = caller.aside ?? ((work) => work());
  const told = await aside(() => findOrMakePair(app, caller, managed));
  const public_key = readPair(told);
  const found = describePublicKey(public_key);
  const { key_type, pss } = mechanismFacts(managed);
  if (found.key_type !== key_type) {
    throw invalid(
      `the managed key "${managed.name}" is of type ${found.key_type} in its token, and its mechanism one of ${key_type}`,
    );
  }
  const verdict = judgeKeyParameters(found.key_type, found.key_bits);
  if (!verdict.allowed) throw invalid(`the managed key "${managed.name}": ${verdict.because}`);
  const pair = { ...found, public_key, ...(pss && { pss }) };
  await proveSigning(app, caller, managed, pair);
  return pair;
}

async function findOrMakePair(
  app: App,
  caller: Caller,
  managed: StoredManagedKey,
): Promise<PublicAttributes> {
  const place = { token: tokenOf(app, managed), key: keyRefOf(managed) };
  const find = async (): Promise<PublicAttributes | undefined> => {
    const found = await askModule(app, managed.library, { kind: 'find pair', ...place });
    return found.type === 'pair' ? found.pair : undefined;
  };
  if (!managed.allow_generate_key) {
    const found = await find();
    if (found) return found;
    throw invalid(
      `the token has no key for the managed key "${managed.name}", and allow_generate_key is false`,
    );
  }
  return findOrMakeKey(app, { find, make: () => makePair(app, caller, managed, place) });
}

async function makePair(
  app: App,
  caller: Caller,
  managed: StoredManagedKey,
  place: { token: TokenRef; key: KeyRef },
): Promise<PublicAttributes> {
  const { library, name, key_label } = managed;
  if (key_label === '') {
    throw invalid(`a key for the managed key "${name}" can be made only with a key_label`);
  }
  const wanted = pairKindOf(managed, mechanismFacts(managed).key_type);
  const made = await makeKeyInTurn(app, askerOf(caller), () =>
    askModule(app, library, { kind: 'make pair', ...place, wanted }),
  );
  if (made.type === 'pair' && made.pair) return made.pair;
  throw new Failure('unavailable', `the token does not find the key that it made for "${name}"`);
}

function readPair(told: PublicAttributes): Uint8Array {
  try {
    return publicKeyInfoOf(told);
  } catch (error) {
    throw error instanceof RefusedOrder ? invalid(error.message) : error;
  }
}

const PROBE_BYTES = 32;

async function proveSigning(
  app: App,
  caller: Caller,
  managed: StoredManagedKey,
  pair: ManagedPair,
  algorithm = algorithmOf(pair),
): Promise<void> {
  const data = app.randomBytes(PROBE_BYTES);
  const key = { ...pair, managed_key_id: managed.uuid };
  await signInTurn(app, caller, key, () =>
    signThere(app, managed, pair, { algorithm, data, isTried: true }),
  );
}

function algorithmOf(pair: ManagedPair, signature_bits = 256): SignatureAlgorithm {
  return chooseSignatureAlgorithm({ ...kindOf(pair), signature_bits });
}

/**
 * Signs for a mount with a key that its token has. The mount must be allowed to use it at each signature.
 *
 * @param use.public_key the key that must have signed
 * @throws Failure `unavailable` where the mount may not use the key any more, the token cannot be reached, or signs with
 *   another key; `invalid` where the key does not sign by this algorithm
 */
export async function signWithManagedKey(
  app: App,
  use: { mount_id: string; managed_key_id: string; public_key: Uint8Array },
  algorithm: SignatureAlgorithm,
  data: Uint8Array,
): Promise<Uint8Array> {
  const managed = (await readManagedKeys(app)).get(use.managed_key_id);
  const mount = await findMountById(app, use.mount_id);
  if (!managed || !mount) throw new Failure('unavailable', 'there is no such managed key');
  const because = judgeUse(managed, mount);
  // Not the request's fault: what the mount may use was changed since the key was taken.
  if (because !== undefined) throw new Failure('unavailable', because);
  return signThere(app, managed, use, { algorithm, data });
}

interface ToSign {
  algorithm: SignatureAlgorithm;
  data: Uint8Array;
  /** Whether the token has not signed like this before. */
  isTried?: boolean;
}

async function signThere(
  app: App,
  managed: StoredManagedKey,
  { public_key }: { public_key: Uint8Array },
  { algorithm, data, isTried }: ToSign,
): Promise<Uint8Array> {
  const { name: mechanism, ...facts } = mechanismFacts(managed);
  if (!signs(facts, algorithm)) {
    throw invalid(
      `the managed key "${managed.name}" does not sign ${algorithm}: its mechanism is ${managed.mechanism} (${mechanism})`,
    );
  }
  const hashes = facts.pss === algorithm;
  const digest = hashes ? undefined : await hashLong(algorithm, data);
  const prepared = prepareSignature(algorithm, data, { digest, hashes });
  const place = { token: tokenOf(app, managed), key: keyRefOf(managed) };
  // Another key may bear the label by now, and a device can err: what does not verify goes nowhere. Where the
  // token was made anew, what the key was found as may mean another one: it is looked for once more, among all that
  // bear its name by now.
  for (let anew: number | undefined; ; anew = anew === undefined ? 0 : anew + 1) {
    const order = { kind: 'sign', ...place, ...prepared, anew } as const;
    const signed = await askModule(app, managed.library, order, isTried);
    if (signed.type !== 'bytes') throw new Error(`the module answered "${signed.type}"`);
    if (signed.bytes.length > 0) {
      const signature = encodeSignature(prepared.mechanism, signed.bytes);
      const key = parsePublicKey(public_key);
      if (await verifyAsync(key, algorithm, data, signature)) return signature;
    }
    if (anew !== undefined && signed.more !== true) break;
  }
  throw new Failure(
    'unavailable',
    `the token did not sign with the key that the managed key "${managed.name}" stands for`,
  );
}

function signs(
  { key_type, pss }: Pick<ReturnType<typeof mechanismFacts>, 'key_type' | 'pss'>,
  algorithm: SignatureAlgorithm,
): boolean {
  const facts = signatureFacts(algorithm);
  if (facts.key_type !== key_type || facts.pss !== (pss !== undefined)) return false;
  return pss === undefined || pss === 'PSS' || pss === algorithm;
}

/** Data of which a digest takes longer than a turn of the event loop, in bytes: long CRLs. */
const LONG = 1 << 20;

async function hashLong(
  algorithm: SignatureAlgorithm,
  data: Uint8Array,
): Promise<Uint8Array | undefined> {
  const { hash } = signatureFacts(algorithm);
  if (data.length <= LONG || hash === undefined) return undefined;
  const hashing = createHash(hash);
  for (let at = 0; at < data.length; at += LONG) {
    hashing.update(data.subarray(at, at + LONG));
    await nextTurn();
  }
  return Uint8Array.from(hashing.digest());
}

const HASH_BITS: ReadonlyMap<string, number> = new Map([
  ['sha2-256', 256],
  ['sha2-384', 384],
  ['sha2-512', 512],
]);

/** Signs something random, and verifies it; a key that is not there is made where that is allowed. */
export async function testManagedKey(
  app: App,
  caller: Caller,
  input: { type: string; name: string; hash_algorithm: string; use_pss: boolean },
): Promise<NothingResult> {
  const managed = await requireManagedKey(app, input);
  const bits = HASH_BITS.get(input.hash_algorithm);
  if (bits === undefined) {
    throw invalid(`hash_algorithm may be ${[...HASH_BITS.keys()].join(', ')}`);
  }
  // First of all: a request that is refused makes no key.
  if (input.use_pss && !mechanismFacts(managed).pss) {
    throw invalid('use_pss: the mechanism of the key is another one');
  }
  const pair = await preparePair(app, caller, managed);
  await proveSigning(app, caller, managed, pair, algorithmOf(pair, bits));
  return {};
}
