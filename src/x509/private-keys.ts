/** Private keys in the forms clients send and receive: PKCS #1, SEC 1 and PKCS #8. */

import { createPrivateKey, type KeyObject } from 'node:crypto';
import { invalid } from '../core/failure.ts';
import { encodePem, type PemBlock, parsePem } from '../core/pem.ts';
import { chooseSignatureAlgorithm, signAsync, verifyAsync } from './algorithms.ts';
import { bitString, contextConstructed, integer, octetString, oid, sequence } from './der.ts';
import { readBitString } from './der-primitives.ts';
import { children, readDer } from './der-reader.ts';
import {
  type CurveBits,
  describePublicKey,
  ecAlgorithmIdentifier,
  findCurveByName,
  parsePublicKey,
  publicKeyInfo,
} from './keys.ts';
import { CURVE_OID } from './oids.ts';
import { isPostQuantumKey } from './post-quantum.ts';
import {
  MAX_KEY_BYTES,
  mismatchedKey,
  requireEc,
  requirePkcs8,
  requireRsa,
  unusableKey,
} from './private-key-parts.ts';

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
    case 'PRIVATE KEY': {
      const stated = requirePkcs8(readDer(der, MAX_KEY_BYTES));
      const key = load(() => createPrivateKey({ ...options, type: 'pkcs8' }));
      if (stated && !isPublicPart(stated, key)) throw mismatchedKey();
      return key;
    }
    case 'RSA PRIVATE KEY':
      requireRsa(readDer(der, MAX_KEY_BYTES));
      return load(() => createPrivateKey({ ...options, type: 'pkcs1' }));
    case 'EC PRIVATE KEY':
      requireEc(readDer(der, MAX_KEY_BYTES));
      return load(() => createPrivateKey({ ...options, type: 'sec1' }));
    case 'ENCRYPTED PRIVATE KEY':
      throw invalid('the private key is encrypted; keys are accepted in the clear only');
    default:
      throw invalid(
        `a PEM block "${label}" where PRIVATE KEY, RSA PRIVATE KEY or EC PRIVATE KEY is accepted`,
      );
  }
}

function load(read: () => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch {
    // The library's own words may quote the input, and the input is a secret.
    throw unusableKey();
  }
  describePublicKey(publicKeyInfo(key));
  return key;
}

/** Whether it is that of the key, which has it from its private part. */
function isPublicPart(stated: Uint8Array, key: KeyObject): boolean {
  const [, own] = children(readDer(publicKeyInfo(key)));
  return own !== undefined && Buffer.compare(readBitString(own).bytes, stated) === 0;
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
