/** Private keys in the forms clients send and receive: PKCS #1, SEC 1 and PKCS #8. */

import { createPrivateKey, type KeyObject } from 'node:crypto';
import { type Failure, invalid } from '../core/failure.ts';
import { encodePem, type PemBlock, parsePem } from '../core/pem.ts';
import { chooseSignatureAlgorithm, signAsync, verifyAsync } from './algorithms.ts';
import { bitString, contextConstructed, integer, octetString, oid, sequence, TAG } from './der.ts';
import { readOid, readSmallInteger, readUnsigned } from './der-primitives.ts';
import { children, DerFields, type DerValue, onlyChild, readDer } from './der-reader.ts';
import {
  type CurveBits,
  describePublicKey,
  ecAlgorithmIdentifier,
  fieldBytes,
  findCurveByName,
  findCurveByOid,
  parsePublicKey,
  publicKeyInfo,
} from './keys.ts';
import { CURVE_OID, KEY_OID } from './oids.ts';
import { findParameterSetByOid, isPostQuantumKey, type ParameterSet } from './post-quantum.ts';

/** `traditional` is PKCS #1 for RSA and SEC 1 for curves; all others have only PKCS #8. */
export type PrivateKeyForm = 'traditional' | 'pkcs8';

/**
 * A private key as a labelled block, for {@link encodePem} or base64.
 *
 * @throws Error for a key of a kind that is not known here
 * @see RFC 8017 §A.1.2, RFC 5915 §3, RFC 5958 §2; RFC 9881 §6: ML-DSA keys that were made here as their seed
 */
export function encodePrivateKey(key: KeyObject, form: PrivateKeyForm): PemBlock {
  switch (key.asymmetricKeyType) {
    case 'ec':
      return encodeEcPrivateKey(key, form);
    case 'rsa':
      return form === 'pkcs8'
        ? { label: 'PRIVATE KEY', der: key.export({ type: 'pkcs8', format: 'der' }) }
        : { label: 'RSA PRIVATE KEY', der: key.export({ type: 'pkcs1', format: 'der' }) };
    case 'ed25519':
      return { label: 'PRIVATE KEY', der: key.export({ type: 'pkcs8', format: 'der' }) };
    default:
      if (!isPostQuantumKey(key)) {
        throw new Error(`a private key of type ${key.asymmetricKeyType}`);
      }
      return { label: 'PRIVATE KEY', der: key.export({ type: 'pkcs8', format: 'der' }) };
  }
}

const ONE = integer(1);
const ZERO = integer(0);

function encodeEcPrivateKey(key: KeyObject, form: PrivateKeyForm): PemBlock {
  const bits = findCurveByName(key.asymmetricKeyDetails?.namedCurve);
  if (!bits || bits === 224) {
    return form === 'pkcs8'
      ? { label: 'PRIVATE KEY', der: key.export({ type: 'pkcs8', format: 'der' }) }
      : { label: 'EC PRIVATE KEY', der: key.export({ type: 'sec1', format: 'der' }) };
  }
  // The same bytes as the library's encoder, in a third of its time; JWK has no name for P-224.
  const { d = '', x = '', y = '' } = key.export({ format: 'jwk' });
  const secret = Buffer.from(d, 'base64url');
  const point = Buffer.from([4, ...Buffer.from(x, 'base64url'), ...Buffer.from(y, 'base64url')]);
  return encodeBareEcKey({ bits, secret, point }, form);
}

/** A key on a curve as bare numbers, for one that is handed out and never used here. */
export interface BareEcKey {
  bits: CurveBits;
  /** As long as a coordinate, leading zeros included. */
  secret: Uint8Array;
  /** Uncompressed. */
  point: Uint8Array;
}

/** As {@link encodePrivateKey}. */
export function encodeBareEcKey(key: BareEcKey, form: PrivateKeyForm): PemBlock {
  const { bits, secret, point } = key;
  const publicPart = contextConstructed(1, bitString(point));
  if (form === 'traditional') {
    const curve = contextConstructed(0, oid(CURVE_OID[bits]));
    return { label: 'EC PRIVATE KEY', der: sequence(ONE, octetString(secret), curve, publicPart) };
  }
  const inner = octetString(sequence(ONE, octetString(secret), publicPart));
  return { label: 'PRIVATE KEY', der: sequence(ZERO, ecAlgorithmIdentifier(bits), inner) };
}

/** The key as PEM, without a line end behind it, or as DER. */
export function exportPrivateKey(key: KeyObject, form: PrivateKeyForm, encoding: 'pem'): string;
export function exportPrivateKey(key: KeyObject, form: PrivateKeyForm, encoding: 'der'): Uint8Array;
export function exportPrivateKey(
  key: KeyObject,
  form: PrivateKeyForm,
  encoding: 'pem' | 'der',
): string | Uint8Array {
  const { label, der } = encodePrivateKey(key, form);
  return encoding === 'der' ? der : encodePem(label, der);
}

/** Says whether a block of this label is a private key, readable or not. */
export const isPrivateKeyLabel = (label: string): boolean => label.endsWith('PRIVATE KEY');

/**
 * The one private key of a PEM text; an `EC PARAMETERS` block before it is passed over.
 *
 * @throws Failure `invalid` for none, several, an encrypted one, or one of a kind that is not supported
 */
export function parsePrivateKey(pem: string): KeyObject {
  const [block, second] = parsePem(pem).filter(({ label }) => label !== 'EC PARAMETERS');
  if (!block || second) throw invalid('private_key may hold one PEM block with a private key');
  return parsePrivateKeyBlock(block);
}

/** The private key of a block. @throws Failure `invalid` as {@link parsePrivateKey} */
export function parsePrivateKeyBlock({ label, der }: PemBlock): KeyObject {
  const options = { key: Buffer.from(der), format: 'der' } as const;
  switch (label) {
    case 'PRIVATE KEY':
      requirePkcs8(readDer(der, MAX_KEY_BYTES));
      return load(() => createPrivateKey({ ...options, type: 'pkcs8' }));
    case 'RSA PRIVATE KEY':
      requireRsa(readDer(der, MAX_KEY_BYTES));
      return load(() => createPrivateKey({ ...options, type: 'pkcs1' }));
    case 'EC PRIVATE KEY':
      requireEc(readDer(der, MAX_KEY_BYTES), undefined);
      return load(() => createPrivateKey({ ...options, type: 'sec1' }));
    case 'ENCRYPTED PRIVATE KEY':
      throw invalid('the private key is encrypted; keys are accepted in the clear only');
    default:
      throw invalid(
        `a PEM block "${label}" where PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY is accepted`,
      );
  }
}

/** An RSA key of 8,192 bits with all its numbers fits twice. */
const MAX_KEY_BYTES = 16 << 10;

function load(read: () => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch {
    // The library's own words may quote the input, and the input is a secret.
    throw unusable();
  }
  describePublicKey(publicKeyInfo(key));
  return key;
}

const unusable = (): Failure =>
  invalid(
    'the private key could not be read; RSA, EC, Ed25519, ML-DSA and SLH-DSA keys are accepted',
  );

/** OneAsymmetricKey, RFC 5958 §2. */
function requirePkcs8(value: DerValue): void {
  const fields = new DerFields(value);
  readSmallInteger(fields.take(), 1);
  const [algorithm, parameters] = children(fields.take(TAG.sequence));
  const { content } = fields.take(TAG.octetString);
  fields.takeIf(0xa0);
  fields.takeIf(0x81);
  fields.end();
  const type = algorithm && readOid(algorithm);
  const set = type === undefined ? undefined : findParameterSetByOid(type);
  if (set) {
    if (parameters) throw unusable();
    requirePostQuantum(set, content);
    return;
  }
  const inner = readDer(content, MAX_KEY_BYTES);
  switch (type) {
    case KEY_OID.rsaEncryption:
      requireRsa(inner);
      return;
    case KEY_OID.ecPublicKey:
      requireEc(inner, parameters);
      return;
    case KEY_OID.ed25519:
      if (inner.tag !== TAG.octetString || inner.content.length !== 32) throw unusable();
      return;
    default:
      throw unusable();
  }
}

const SEED_BYTES = 32;
/** FIPS 204 §4, table 2: bytes of private keys that are written out. */
const EXPANDED_BYTES = new Map([
  [44, 2_560],
  [65, 4_032],
  [87, 4_896],
]);

/**
 * ML-DSA: the seed, the key that is made of it, or both, which the library compares (RFC 9881 §6). SLH-DSA: four
 * numbers one after the other, nothing around them (RFC 9909).
 */
function requirePostQuantum(set: ParameterSet, content: Uint8Array): void {
  if (set.key_type !== 'mldsa') {
    if (content.length !== 2 * set.public_bytes) throw unusable();
    return;
  }
  const isExpanded = ({ tag, content: bytes }: DerValue): boolean =>
    tag === TAG.octetString && bytes.length === EXPANDED_BYTES.get(set.key_bits);
  const inner = readDer(content, MAX_KEY_BYTES);
  if (inner.tag === 0x80 && inner.content.length === SEED_BYTES) return;
  if (isExpanded(inner)) return;
  if (inner.tag !== TAG.sequence) throw unusable();
  const both = new DerFields(inner);
  const seed = both.take(TAG.octetString).content;
  const expanded = both.take();
  both.end();
  if (seed.length !== SEED_BYTES || !isExpanded(expanded)) throw unusable();
}

/** RSAPrivateKey, RFC 8017 §A.1.2, of two primes; no part longer than it can be in a real key. */
function requireRsa(value: DerValue): void {
  const fields = new DerFields(value);
  readSmallInteger(fields.take(), 0);
  const modulus = readUnsigned(fields.take()).length;
  const publicExponent = readUnsigned(fields.take()).length;
  const privateExponent = readUnsigned(fields.take()).length;
  // Crafted lengths would make a signature take as long as the sender likes.
  if (publicExponent > 4 || privateExponent > modulus) throw unusable();
  for (let part = 0; part < 5; part++) {
    if (readUnsigned(fields.take()).length > Math.ceil(modulus / 2) + 1) throw unusable();
  }
  fields.end();
}

/** ECPrivateKey, RFC 5915 §3, with a named curve here or around it. */
function requireEc(value: DerValue, around: DerValue | undefined): void {
  const fields = new DerFields(value);
  if (readSmallInteger(fields.take(), 1) !== 1) throw unusable();
  const secret = fields.take(TAG.octetString).content;
  const own = fields.takeIf(0xa0);
  fields.takeIf(0xa1);
  fields.end();
  const curve = own ? onlyChild(own) : around;
  if (curve?.tag !== TAG.oid) throw unusable();
  const type = readOid(curve);
  if (around && readOid(around) !== type) throw unusable();
  const bits = findCurveByOid(type);
  if (!bits || secret.length > fieldBytes(bits)) throw unusable();
}

const PROBE = Buffer.from('proof of possession of a private key');

/**
 * Says whether the private key really is that of the public one, by signing something and verifying
 * it. Comparing the public parts alone would not do: a sender can put any of them beside any secret.
 * Most of it is done in the thread pool: an RSA key of 8192 bits takes tenths of a second.
 */
export async function provePair(
  privateKey: KeyObject,
  subjectPublicKeyInfo: Uint8Array,
): Promise<boolean> {
  const description = describePublicKey(subjectPublicKeyInfo);
  // One of another kind or size, or of other numbers, is told without its being used.
  if (Buffer.compare(publicKeyInfo(privateKey), subjectPublicKeyInfo) !== 0) return false;
  const algorithm = chooseSignatureAlgorithm(description);
  try {
    const signature = await signAsync(privateKey, algorithm, PROBE);
    return await verifyAsync(parsePublicKey(subjectPublicKeyInfo), algorithm, PROBE, signature);
  } catch {
    // A key whose numbers do not go together fails while signing.
    return false;
  }
}
