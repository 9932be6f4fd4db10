/** Signature algorithms: their names, their encodings, which suits a key, signing and verifying. */

import { constants, type KeyObject, sign, verify as verifyBytes } from 'node:crypto';
import { type AlgorithmFacts, ecdsa, pss, rsa } from './algorithm-facts.ts';
import { oid, sequence } from './der.ts';
import type { DerValue } from './der-reader.ts';
import type { KeyDescription, KeyType, PssForm } from './keys.ts';
import { SIGNATURE_OID } from './oids.ts';
import { PARAMETER_SETS, type PostQuantumAlgorithm, parameterSetOf } from './post-quantum.ts';

/** The names clients use, as in `revocation_signature_algorithm`. */
export type SignatureAlgorithm =
  | 'SHA256WithRSA'
  | 'SHA384WithRSA'
  | 'SHA512WithRSA'
  | 'SHA256WithRSAPSS'
  | 'SHA384WithRSAPSS'
  | 'SHA512WithRSAPSS'
  | 'ECDSAWithSHA256'
  | 'ECDSAWithSHA384'
  | 'ECDSAWithSHA512'
  | 'PureEd25519'
  | PostQuantumAlgorithm;

/** RFC 9881 §2 and §3, RFC 9909 §3: without parameters, of a context that is empty, nothing hashed before. */
function postQuantum(name: PostQuantumAlgorithm): AlgorithmFacts {
  const set = PARAMETER_SETS.find(({ algorithm }) => algorithm === name);
  if (!set) throw new Error(`no parameters for ${name}`);
  const { key_type, key_bits, library_type } = set;
  const identifier = sequence(oid(set.oid));
  return {
    key_type,
    key_bits,
    library_type,
    hash: undefined,
    pss: false,
    identifier,
    variants: [],
  };
}

const ALGORITHMS: Record<SignatureAlgorithm, AlgorithmFacts> = {
  SHA256WithRSA: rsa('sha256'),
  SHA384WithRSA: rsa('sha384'),
  SHA512WithRSA: rsa('sha512'),
  SHA256WithRSAPSS: pss('sha256'),
  SHA384WithRSAPSS: pss('sha384'),
  SHA512WithRSAPSS: pss('sha512'),
  ECDSAWithSHA256: ecdsa('sha256', SIGNATURE_OID.ecdsaWithSha256),
  ECDSAWithSHA384: ecdsa('sha384', SIGNATURE_OID.ecdsaWithSha384),
  ECDSAWithSHA512: ecdsa('sha512', SIGNATURE_OID.ecdsaWithSha512),
  PureEd25519: {
    key_type: 'ed25519',
    hash: undefined,
    pss: false,
    identifier: sequence(oid(SIGNATURE_OID.ed25519)),
    variants: [],
  },
  MLDSA44: postQuantum('MLDSA44'),
  MLDSA65: postQuantum('MLDSA65'),
  MLDSA87: postQuantum('MLDSA87'),
  'SLHDSA-SHA2-128s': postQuantum('SLHDSA-SHA2-128s'),
  'SLHDSA-SHA2-128f': postQuantum('SLHDSA-SHA2-128f'),
  'SLHDSA-SHA2-192s': postQuantum('SLHDSA-SHA2-192s'),
  'SLHDSA-SHA2-192f': postQuantum('SLHDSA-SHA2-192f'),
  'SLHDSA-SHA2-256s': postQuantum('SLHDSA-SHA2-256s'),
  'SLHDSA-SHA2-256f': postQuantum('SLHDSA-SHA2-256f'),
  'SLHDSA-SHAKE-128s': postQuantum('SLHDSA-SHAKE-128s'),
  'SLHDSA-SHAKE-128f': postQuantum('SLHDSA-SHAKE-128f'),
  'SLHDSA-SHAKE-192s': postQuantum('SLHDSA-SHAKE-192s'),
  'SLHDSA-SHAKE-192f': postQuantum('SLHDSA-SHAKE-192f'),
  'SLHDSA-SHAKE-256s': postQuantum('SLHDSA-SHAKE-256s'),
  'SLHDSA-SHAKE-256f': postQuantum('SLHDSA-SHAKE-256f'),
};

/** Says whether a text is the name of an algorithm that we know. */
export const isSignatureAlgorithm = (text: string): text is SignatureAlgorithm =>
  Object.hasOwn(ALGORITHMS, text);

/** Every name, in the order of the type. */
export const SIGNATURE_ALGORITHMS: readonly SignatureAlgorithm[] =
  Object.keys(ALGORITHMS).filter(isSignatureAlgorithm);

/** The algorithm of that name, spelt exactly, if we have it. */
export function findSignatureAlgorithm(name: string): SignatureAlgorithm | undefined {
  return isSignatureAlgorithm(name) ? name : undefined;
}

/** AlgorithmIdentifier, the whole SEQUENCE. Shared bytes: not to be changed. */
export function algorithmIdentifier(name: SignatureAlgorithm): Uint8Array {
  return ALGORITHMS[name].identifier;
}

const byEncoding = new Map<string, SignatureAlgorithm>();
for (const name of SIGNATURE_ALGORITHMS) {
  const { identifier, variants } = ALGORITHMS[name];
  for (const encoded of [identifier, ...variants]) byEncoding.set(keyOf(encoded), name);
}

function keyOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

/**
 * The algorithm an AlgorithmIdentifier names.
 *
 * @returns undefined for one we do not verify: SHA-1 and older, PSS with another salt, other families
 */
export function parseAlgorithmIdentifier(value: DerValue): SignatureAlgorithm | undefined {
  return value.raw.length <= 128 ? byEncoding.get(keyOf(value.raw)) : undefined;
}

export interface SignaturePreferences {
  /** Of the key that signs. */
  key_type: KeyType;
  key_bits: number;
  /** 256, 384 or 512; only an RSA key honours it. 0 and absent mean 256. */
  signature_bits?: number;
  /** Only an RSA key honours it. */
  use_pss?: boolean;
  /** See `KeyDescription`: what is said of hash and padding gives way to what the key can. */
  pss?: PssForm;
}

/** The algorithm a key signs with: for RSA as chosen, for a curve by its size, else there is only one. */
export function chooseSignatureAlgorithm(wanted: SignaturePreferences): SignatureAlgorithm {
  switch (wanted.key_type) {
    case 'ed25519':
      return 'PureEd25519';
    case 'ec':
      if (wanted.key_bits <= 256) return 'ECDSAWithSHA256';
      return wanted.key_bits <= 384 ? 'ECDSAWithSHA384' : 'ECDSAWithSHA512';
    case 'rsa': {
      const { pss: form } = wanted;
      if (form !== undefined && form !== 'PSS') return form;
      const bits =
        wanted.signature_bits === 384 || wanted.signature_bits === 512
          ? wanted.signature_bits
          : 256;
      return wanted.use_pss || form === 'PSS' ? `SHA${bits}WithRSAPSS` : `SHA${bits}WithRSA`;
    }
    default:
      return parameterSetOf({ key_type: wanted.key_type, key_bits: wanted.key_bits }).algorithm;
  }
}

/** Says whether a key of this kind can sign with the algorithm. */
export function fitsKey(name: SignatureAlgorithm, key: KeyDescription): boolean {
  const { key_type, key_bits = key.key_bits, pss: isPss } = ALGORITHMS[name];
  if (key_type !== key.key_type || key_bits !== key.key_bits) return false;
  return key.pss === undefined || (key.pss === 'PSS' ? isPss : key.pss === name);
}

/** The same algorithm in its PKCS #1 v1.5 form, for readers of OCSP answers that know no PSS. */
export function withoutPss(name: SignatureAlgorithm): SignatureAlgorithm {
  switch (name) {
    case 'SHA256WithRSAPSS':
      return 'SHA256WithRSA';
    case 'SHA384WithRSAPSS':
      return 'SHA384WithRSA';
    case 'SHA512WithRSAPSS':
      return 'SHA512WithRSA';
    default:
      return name;
  }
}

/** Says whether a signature by such a key is quick enough to be made on the calling thread. */
export function isCheap(key: KeyDescription): boolean {
  return key.key_type === 'ed25519' || (key.key_type === 'ec' && key.key_bits === 256);
}

const PSS_OPTIONS = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
} as const;

/**
 * Signs on the calling thread.
 *
 * @throws Error when key and algorithm do not go together
 */
export function signSync(key: KeyObject, name: SignatureAlgorithm, data: Uint8Array): Uint8Array {
  const { hash, pss: usesPss } = ALGORITHMS[name];
  requireKeyType(key, name);
  return sign(hash ?? null, data, usesPss ? { key, ...PSS_OPTIONS } : key);
}

/** Signs in the thread pool. @throws Error when key and algorithm do not go together */
export async function signAsync(
  key: KeyObject,
  name: SignatureAlgorithm,
  data: Uint8Array,
): Promise<Uint8Array> {
  const { hash, pss: usesPss } = ALGORITHMS[name];
  requireKeyType(key, name);
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  sign(hash ?? null, data, usesPss ? { key, ...PSS_OPTIONS } : { key }, (error, signature) => {
    if (error) reject(error);
    else resolve(signature);
  });
  return promise;
}

function libraryType(name: SignatureAlgorithm): string {
  const { key_type, library_type = key_type } = ALGORITHMS[name];
  return library_type;
}

function requireKeyType(key: KeyObject, name: SignatureAlgorithm): void {
  if (key.asymmetricKeyType !== libraryType(name)) {
    throw new Error(
      `a key of type ${key.asymmetricKeyType} for a signature of type ${libraryType(name)}`,
    );
  }
}

/**
 * As {@link verify}; what takes longer than a P-256 signature, some 65 µs, in the thread pool. From there answers come one by
 * one, so that requests that were begun together go apart (docs/adr/0043-requests-begun-together.md), which costs more than it spares.
 */
export async function verifyAsync(
  publicKey: KeyObject,
  name: SignatureAlgorithm,
  data: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  const { hash, pss: usesPss } = ALGORITHMS[name];
  if (publicKey.asymmetricKeyType !== libraryType(name) || !isWhole(publicKey, signature)) {
    return false;
  }
  if (isP256(publicKey)) return verify(publicKey, name, data, signature);
  const key = usesPss ? { key: publicKey, ...PSS_OPTIONS } : { key: publicKey };
  const { promise, resolve } = Promise.withResolvers<boolean>();
  try {
    // An error is a refusal, as below.
    verifyBytes(hash ?? null, data, key, signature, (error, isRight) =>
      resolve(error === null && isRight),
    );
  } catch {
    return false;
  }
  return promise;
}

const isP256 = (key: KeyObject): boolean => key.asymmetricKeyDetails?.namedCurve === 'prime256v1';

/**
 * Whether an RSA signature is as long as the modulus (RFC 8017 §8.1.2, §8.2.2). The library takes one
 * without its leading zero, so that one certificate could have two forms.
 */
function isWhole(key: KeyObject, signature: Uint8Array): boolean {
  // The details of a key take 3 µs to be had.
  if (key.asymmetricKeyType !== 'rsa') return true;
  const bits = key.asymmetricKeyDetails?.modulusLength;
  return bits === undefined || signature.length === Math.ceil(bits / 8);
}

/** Says whether the signature is right; a key of another kind than the algorithm's makes it wrong. */
export function verify(
  publicKey: KeyObject,
  name: SignatureAlgorithm,
  data: Uint8Array,
  signature: Uint8Array,
): boolean {
  const { hash, pss: usesPss } = ALGORITHMS[name];
  if (publicKey.asymmetricKeyType !== libraryType(name) || !isWhole(publicKey, signature)) {
    return false;
  }
  try {
    return verifyBytes(
      hash ?? null,
      data,
      usesPss ? { key: publicKey, ...PSS_OPTIONS } : publicKey,
      signature,
    );
  } catch {
    // The library refuses some wrong signatures instead of finding them wrong.
    return false;
  }
}

/** What an algorithm consists of, for whoever signs elsewhere. */
export function signatureFacts(
  name: SignatureAlgorithm,
): Pick<AlgorithmFacts, 'key_type' | 'hash' | 'pss'> {
  return ALGORITHMS[name];
}
