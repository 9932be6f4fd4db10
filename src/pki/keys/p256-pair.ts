import type { BareEcKey } from '../../x509/private-keys.ts';

const SECRET = 32;

/** Bytes of one P-256 pair as threads hand it over: the secret number, then the uncompressed point. */
export const PAIR_BYTES = SECRET + 65;

/** @param pair {@link PAIR_BYTES} long; the key keeps views of it */
export function bareKeyOf(pair: Uint8Array): BareEcKey {
  return { bits: 256, secret: pair.subarray(0, SECRET), point: pair.subarray(SECRET, PAIR_BYTES) };
}
