/** What a signature costs, in bytes and in time. */

import type { SignatureAlgorithm } from './algorithms.ts';
import type { KeyDescription } from './keys.ts';
import { isPostQuantum, PARAMETER_SETS, parameterSetOf } from './post-quantum.ts';

/** The longest signature of a classical key, that of an RSA key of 8192 bits, with its algorithm and all lengths. */
const CLASSICAL_ROOM = 2048;
const HEADERS = 128;

/** How many bytes a signature adds at most to what is signed, its algorithm and all lengths included. */
export function signatureRoom(name: SignatureAlgorithm): number {
  const set = PARAMETER_SETS.find(({ algorithm }) => algorithm === name);
  return set ? set.signature_bytes + HEADERS : CLASSICAL_ROOM;
}

/** About how many milliseconds of a core a signature by such a key takes: 1 for all that are quick. */
export function signingCost(key: KeyDescription): number {
  if (key.key_type === 'rsa') return Math.ceil((key.key_bits / 2048) ** 2.6);
  const { key_type, key_bits } = key;
  return isPostQuantum(key_type) ? parameterSetOf({ key_type, key_bits }).signing_ms : 1;
}

/** Whether it takes so long that few may be made at a time: with the small signatures of SLH-DSA up to a second. */
export const isLong = (key: KeyDescription): boolean => signingCost(key) >= 100;
