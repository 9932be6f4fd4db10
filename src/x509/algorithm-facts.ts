/** What there is to know of a signature algorithm, and how the classical ones are written. */

import { contextConstructed, integer, nullValue, oid, sequence } from './der.ts';
import type { KeyType } from './keys.ts';
import { HASH_OID, SIGNATURE_OID } from './oids.ts';

export interface AlgorithmFacts {
  key_type: KeyType;
  /** Where the algorithm goes with keys of one size alone. */
  key_bits?: number;
  /** What the cryptographic library calls its keys, where that is not their type. */
  library_type?: string;
  /** Undefined where the algorithm hashes by itself. */
  hash: 'sha256' | 'sha384' | 'sha512' | undefined;
  pss: boolean;
  /** AlgorithmIdentifier as we write it. */
  identifier: Uint8Array;
  /** Other encodings that mean the same and are met. */
  variants: Uint8Array[];
}

type Hash = keyof typeof HASH_OID;
const HASH_BYTES = { sha1: 20, sha256: 32, sha384: 48, sha512: 64 } as const;

export function rsa(hash: 'sha256' | 'sha384' | 'sha512'): AlgorithmFacts {
  const name = oid(SIGNATURE_OID[`${hash}WithRSAEncryption`]);
  return {
    key_type: 'rsa',
    hash,
    pss: false,
    identifier: sequence(name, nullValue()),
    // RFC 4055 §5: the parameters should be NULL, and their absence is to be accepted.
    variants: [sequence(name)],
  };
}

/** RSASSA-PSS-params, RFC 4055 §3.1; the salt is as long as the hash, the trailer field the default. */
export function pss(hash: 'sha256' | 'sha384' | 'sha512'): AlgorithmFacts {
  const encode = (inner: Uint8Array, salt: number): Uint8Array =>
    sequence(
      oid(SIGNATURE_OID.rsassaPss),
      sequence(
        contextConstructed(0, inner),
        contextConstructed(1, sequence(oid(SIGNATURE_OID.mgf1), inner)),
        contextConstructed(2, integer(salt)),
      ),
    );
  const withNull = hashIdentifier(hash);
  // RFC 4055 §2.1: the hash's parameters may be absent as well.
  const without = sequence(oid(HASH_OID[hash]));
  const salt = HASH_BYTES[hash];
  return {
    key_type: 'rsa',
    hash,
    pss: true,
    identifier: encode(withNull, salt),
    variants: [encode(without, salt)],
  };
}

export function ecdsa(hash: 'sha256' | 'sha384' | 'sha512', name: string): AlgorithmFacts {
  return { key_type: 'ec', hash, pss: false, identifier: sequence(oid(name)), variants: [] };
}

/** AlgorithmIdentifier of a hash, parameters NULL, as OCSP's CertID and PSS have it. */
export function hashIdentifier(hash: Hash): Uint8Array {
  return sequence(oid(HASH_OID[hash]), nullValue());
}
