/** Public keys as certificates carry them: which kinds there are, how they are written and known. */

import { createPublicKey, hash, type KeyObject } from 'node:crypto';
import { Failure, invalid } from '../core/failure.ts';
import { bitString, latin1Bytes, nullValue, oid, sequence, TAG, unsignedInteger } from './der.ts';
import { readOid, readUnsigned, readWholeBitString } from './der-primitives.ts';
import { DerFields, type DerValue, readDer } from './der-reader.ts';
import { CURVE_OID, KEY_OID } from './oids.ts';
import { findParameterSetByOid, type PostQuantumKeyType } from './post-quantum.ts';

export type KeyType = 'rsa' | 'ec' | 'ed25519' | PostQuantumKeyType;

export interface KeyDescription {
  key_type: KeyType;
  /** Modulus or curve size, or the parameters of ML-DSA and SLH-DSA; 0 for Ed25519, which has only one. */
  key_bits: number;
  /** Of an RSA key whose device signs PSS alone: with any hash, or with that one. */
  pss?: PssForm;
}

export type PssForm = 'PSS' | 'SHA256WithRSAPSS' | 'SHA384WithRSAPSS' | 'SHA512WithRSAPSS';

/** What kind of key it is, without what else is known of it. */
export const kindOf = ({ key_type, key_bits, pss }: KeyDescription): KeyDescription => ({
  ...{ key_type, key_bits },
  ...(pss !== undefined && { pss }),
});

export type CurveBits = keyof typeof CURVE_OID;

/**
 * Modulus sizes that can be read: nobody generates longer ones here, and each look at one takes
 * eight times as long as at one of half the size. What may be certified is the rules' affair.
 */
const RSA_READABLE = { min: 512, max: 8192 };

export const EC_BITS: readonly CurveBits[] = [224, 256, 384, 521];

/** The curve of that size, if it is one of ours. */
export function findCurve(key_bits: number): CurveBits | undefined {
  return EC_BITS.find((bits) => bits === key_bits);
}

/** The size of the curve of that OID, if it is one of ours. */
export function findCurveByOid(type: string): CurveBits | undefined {
  return EC_BITS.find((bits) => CURVE_OID[bits] === type);
}

/** Name by which the cryptographic library knows a curve. */
export const CURVE_NAME: Record<CurveBits, string> = {
  224: 'secp224r1',
  256: 'prime256v1',
  384: 'secp384r1',
  521: 'secp521r1',
};

const NULL = nullValue();
const ED25519_BYTES = 32;

/**
 * What kind of key a SubjectPublicKeyInfo holds. That a curve point lies on its curve is found out
 * when the key is used ({@link parsePublicKey}).
 *
 * @throws Failure `invalid` for kinds, curves and encodings that are not supported, and for an RSA
 *   key no generator makes: an even modulus, an exponent that is even, 1 or of more than 32 bits
 * @see RFC 3279 §2.3.1, RFC 5480 §2, RFC 8410 §4, RFC 9881 §4, RFC 9909
 */
export function describePublicKey(subjectPublicKeyInfo: Uint8Array): KeyDescription {
  const { key_type, key_bits } = readPublicKey(subjectPublicKeyInfo);
  return { key_type, key_bits };
}

/** A public key taken apart; numbers big-endian, without leading zeros. */
export type PublicKeyParts =
  | { key_type: 'rsa'; key_bits: number; modulus: Uint8Array; exponent: Uint8Array }
  /** The point uncompressed, with its first byte; that of Ed25519 as RFC 8032 writes it. */
  | { key_type: 'ec' | 'ed25519'; key_bits: number; point: Uint8Array }
  | { key_type: PostQuantumKeyType; key_bits: number; encoded: Uint8Array };

/** {@link describePublicKey} with what the key consists of. @throws Failure `invalid` as that does */
export function readPublicKey(subjectPublicKeyInfo: Uint8Array): PublicKeyParts {
  const info = infoOf(subjectPublicKeyInfo);
  info.parts ??= splitPublicKey(info);
  return info.parts;
}

/** The bytes that were read last, which are not changed once they are read. */
let last: { bytes: Uint8Array; info: PublicKeyInfo } | undefined;

/**
 * The key of a request is looked at up to five times before it is certified, mostly one right after the
 * other: for its kind, its signature, its weaknesses, its identifier, and at the end by the linter.
 */
function infoOf(bytes: Uint8Array): PublicKeyInfo {
  if (last?.bytes !== bytes) last = { bytes, info: readPublicKeyInfo(readDer(bytes)) };
  return last.info;
}

function splitPublicKey({ algorithm, parameters, key }: PublicKeyInfo): PublicKeyParts {
  switch (algorithm) {
    case KEY_OID.rsaEncryption:
      if (parameters?.tag !== TAG.null) throw unsupported('an RSA key with unknown parameters');
      return readRsa(key);
    case KEY_OID.ecPublicKey: {
      if (parameters?.tag !== TAG.oid) throw unsupported('an EC key without a named curve');
      const curve = readOid(parameters);
      const bits = findCurveByOid(curve);
      if (!bits) throw unsupported(`the curve ${curve}`);
      if (key[0] !== 4 || key.length !== 1 + 2 * fieldBytes(bits)) {
        throw unsupported('an EC point that is not uncompressed');
      }
      return { key_type: 'ec', key_bits: bits, point: key };
    }
    case KEY_OID.ed25519:
      if (parameters || key.length !== ED25519_BYTES) throw unsupported('a misshapen Ed25519 key');
      return { key_type: 'ed25519', key_bits: 0, point: key };
    default: {
      const set = findParameterSetByOid(algorithm);
      if (!set) throw unsupported(`the key algorithm ${algorithm}`);
      if (parameters || key.length !== set.public_bytes) {
        throw unsupported(`a misshapen ${set.name} key`);
      }
      return { key_type: set.key_type, key_bits: set.key_bits, encoded: key };
    }
  }
}

function unsupported(what: string): Failure {
  return invalid(
    `public key not supported: ${what}; RSA, EC on P-224, P-256, P-384 or P-521, Ed25519, ML-DSA and SLH-DSA are`,
  );
}

/** Bytes of a coordinate on the curve. */
export const fieldBytes = (bits: CurveBits): number => Math.ceil(bits / 8);

function readRsa(key: Uint8Array): PublicKeyParts {
  const fields = new DerFields(readDer(key));
  const modulus = readUnsigned(fields.take());
  const exponent = readUnsigned(fields.take());
  fields.end();
  const key_bits = modulus.length * 8 - Math.clz32(modulus[0] ?? 0) + 24;
  if (key_bits < RSA_READABLE.min || key_bits > RSA_READABLE.max) {
    const bounds = `${RSA_READABLE.min} to ${RSA_READABLE.max} are read`;
    throw unsupported(`an RSA modulus of ${key_bits} bits (${bounds})`);
  }
  if (((modulus[modulus.length - 1] ?? 0) & 1) === 0) throw unsupported('an even RSA modulus');
  const last = exponent[exponent.length - 1] ?? 0;
  // A long exponent makes each verification slow, and that is all it is good for.
  if (exponent.length > 4 || (last & 1) === 0 || (exponent.length === 1 && last === 1)) {
    throw unsupported('an RSA exponent that is even, 1, or of more than 32 bits');
  }
  return { key_type: 'rsa', key_bits, modulus, exponent };
}

interface PublicKeyInfo {
  algorithm: string;
  parameters: DerValue | undefined;
  /** Contents of subjectPublicKey. */
  key: Uint8Array;
  /** Once it was found to be a key that is supported. */
  parts?: PublicKeyParts;
}

function readPublicKeyInfo(value: DerValue): PublicKeyInfo {
  const fields = new DerFields(value);
  const identifier = new DerFields(fields.take());
  const key = readWholeBitString(fields.take());
  fields.end();
  const algorithm = readOid(identifier.take());
  const parameters = identifier.tag === undefined ? undefined : identifier.take();
  identifier.end();
  return { algorithm, parameters, key };
}

/**
 * The key identifier of method one: SHA-1 of the contents of subjectPublicKey.
 *
 * @throws DerError when the bytes are no SubjectPublicKeyInfo
 * @see RFC 5280 §4.2.1.2
 */
export function keyIdentifier(subjectPublicKeyInfo: Uint8Array): Uint8Array {
  // By way of a text: bytes would come in memory of their own, which takes longer than to hash.
  return latin1Bytes(hash('sha1', infoOf(subjectPublicKeyInfo).key, 'latin1'));
}

/** SHA-256 of the contents of subjectPublicKey, in hex: the same however the algorithm is written. @throws DerError */
export const keyFingerprint = (subjectPublicKeyInfo: Uint8Array): string =>
  hash('sha256', infoOf(subjectPublicKeyInfo).key, 'hex');

/**
 * A key that can verify.
 *
 * @throws Failure `invalid` as {@link describePublicKey}, and for a point that is not on its curve
 */
export function parsePublicKey(subjectPublicKeyInfo: Uint8Array): KeyObject {
  describePublicKey(subjectPublicKeyInfo);
  try {
    const { buffer, byteOffset, length } = subjectPublicKeyInfo;
    const key = Buffer.from(buffer, byteOffset, length);
    return createPublicKey({ key, format: 'der', type: 'spki' });
  } catch (cause) {
    throw invalid('public key not supported: it is not a valid key of its kind', {
      cause,
    });
  }
}

/** As {@link parsePublicKey}; undefined for a key that is not supported, which can verify nothing here. */
export function findPublicKey(subjectPublicKeyInfo: Uint8Array): KeyObject | undefined {
  try {
    return parsePublicKey(subjectPublicKeyInfo);
  } catch (error) {
    if (error instanceof Failure && error.kind === 'invalid') return undefined;
    throw error;
  }
}

const encodePrefix = (bits: CurveBits): Uint8Array =>
  sequence(oid(KEY_OID.ecPublicKey), oid(CURVE_OID[bits]));
const EC_ALGORITHM: Record<CurveBits, Uint8Array> = {
  224: encodePrefix(224),
  256: encodePrefix(256),
  384: encodePrefix(384),
  521: encodePrefix(521),
};
const RSA_ALGORITHM = sequence(oid(KEY_OID.rsaEncryption), NULL);
const ED25519_ALGORITHM = sequence(oid(KEY_OID.ed25519));

/** AlgorithmIdentifier of a key on the curve, as SubjectPublicKeyInfo and PKCS #8 have it. */
export const ecAlgorithmIdentifier = (bits: CurveBits): Uint8Array => EC_ALGORITHM[bits];

/** SubjectPublicKeyInfo of a public key, or of the public half of a private one. */
export function publicKeyInfo(key: KeyObject): Uint8Array {
  const bits = ecBitsOf(key);
  // JWK has no name for P-224 (RFC 7518 §6.2.1.1). A private key's form has the point, too.
  if (bits && bits !== 224) {
    const { x, y } = key.export({ format: 'jwk' });
    return ecPublicKeyInfo(bits, Buffer.concat([POINT_FORM, decode(x), decode(y)]));
  }
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  // Building it here from the bare numbers takes an eighth of the time of the library's encoder.
  switch (publicKey.asymmetricKeyType) {
    case 'rsa': {
      const { n, e } = publicKey.export({ format: 'jwk' });
      const numbers = sequence(unsignedInteger(decode(n)), unsignedInteger(decode(e)));
      return sequence(RSA_ALGORITHM, bitString(numbers));
    }
    case 'ed25519': {
      const { x } = publicKey.export({ format: 'jwk' });
      return sequence(ED25519_ALGORITHM, bitString(decode(x)));
    }
  }
  return publicKey.export({ format: 'der', type: 'spki' });
}

function ecBitsOf(key: KeyObject): CurveBits | undefined {
  return key.asymmetricKeyType === 'ec'
    ? findCurveByName(key.asymmetricKeyDetails?.namedCurve)
    : undefined;
}

const POINT_FORM = Uint8Array.of(4);
const decode = (text: string | undefined): Uint8Array => Buffer.from(text ?? '', 'base64url');

/** SubjectPublicKeyInfo of an uncompressed point. */
export function ecPublicKeyInfo(bits: CurveBits, point: Uint8Array): Uint8Array {
  return sequence(EC_ALGORITHM[bits], bitString(point));
}

/** The size of the curve that the cryptographic library calls so. */
export function findCurveByName(name: string | undefined): CurveBits | undefined {
  return EC_BITS.find((bits) => CURVE_NAME[bits] === name);
}
