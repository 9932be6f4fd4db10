import { hash } from 'node:crypto';
import { hashIdentifier } from '../x509/algorithm-facts.ts';
import { type SignatureAlgorithm, signatureFacts } from '../x509/algorithms.ts';
import { octetString, sequence, unsignedInteger } from '../x509/der.ts';
import type { SignMechanism } from './orders.ts';

const HASH_BYTES = { sha256: 32, sha384: 48, sha512: 64 } as const;

/** What a token is given to sign, and how it does that. */
export interface ToSign {
  mechanism: SignMechanism;
  data: Uint8Array;
}

/**
 * Tokens are given digests: not all hash by themselves, and none as fast.
 *
 * @param known.digest where it is known
 * @param known.hashes whether the token hashes by itself, as some do PSS no other way
 */
export function prepareSignature(
  algorithm: SignatureAlgorithm,
  data: Uint8Array,
  known: { digest?: Uint8Array | undefined; hashes?: boolean } = {},
): ToSign {
  const { key_type, hash: name, pss } = signatureFacts(algorithm);
  if (name === undefined) return { mechanism: { name: 'EDDSA' }, data };
  if (pss && known.hashes) {
    const mechanism = { name: 'HASH_RSA_PKCS_PSS', hash: name, salt: HASH_BYTES[name] } as const;
    return { mechanism, data };
  }
  const digest = known.digest ?? Uint8Array.from(hash(name, data, 'buffer'));
  if (key_type === 'ec') return { mechanism: { name: 'ECDSA' }, data: digest };
  if (pss) {
    return {
      mechanism: { name: 'RSA_PKCS_PSS', hash: name, salt: HASH_BYTES[name] },
      data: digest,
    };
  }
  // RFC 8017 §9.2: CKM_RSA_PKCS pads what it is given, and the DigestInfo is ours to make.
  return {
    mechanism: { name: 'RSA_PKCS' },
    data: sequence(hashIdentifier(name), octetString(digest)),
  };
}

/** A token's signature as certificates have it: of ECDSA it gives r and s side by side (RFC 3279 §2.2.3). */
export function encodeSignature({ name }: SignMechanism, signature: Uint8Array): Uint8Array {
  if (name !== 'ECDSA') return signature;
  const half = signature.length / 2;
  const [r, s] = [signature.subarray(0, half), signature.subarray(half)];
  return sequence(unsignedInteger(r), unsignedInteger(s));
}
