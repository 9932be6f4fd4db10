import type { BareEcKey } from '../../x509/private-keys.ts';

/** Bytes of its secret number. */
export const SECRET_BYTES = 32;

/** Bytes of one P-256 pair as threads hand it over: the secret number, then the uncompressed point. */
export const PAIR_BYTES = SECRET_BYTES + 65;

/** @param pair {@link PAIR_BYTES} long; the key keeps views of it */
export function bareKeyOf(pair: Uint8Array): BareEcKey {
  return {
    bits: 256,
    secret: pair.subarray(0, SECRET_BYTES),
    point: pair.subarray(SECRET_BYTES, PAIR_BYTES),
  };
}
