import { createHmac } from 'node:crypto';
import {
  type EnvelopeContext,
  KEY_LENGTH,
  openEnvelope,
  sealEnvelope,
} from '../barrier/envelope.ts';
import { SEAL_TYPES } from '../config/seal-settings.ts';
import type { Tables } from '../store/tables.ts';
import { MAX_SHARES, splitSecret } from './shamir.ts';

/**
 * What guards the root key. `shamir`: a seal key that exists only as shares in people's hands.
 * `keyfile`: a seal key in a file that the server reads at its start; `pkcs11` and `transit`: one that is stored as
 * a device, or another server, encrypted it. People then hold shares of a recovery key, which proves who they are and
 * opens nothing.
 */
export type SealKind = (typeof SEAL_TYPES)[number];

export const findSealKind = (kind: string): SealKind | undefined =>
  SEAL_TYPES.find((one) => one === kind);

/** Whether a server with such a seal unseals itself when it starts. */
export const opensByItself = (kind: SealKind): boolean => kind !== 'shamir';

/** The seal of an installation; it exists from `sys/init` on. */
export interface Seal extends Omit<Tables['seal'], 'id' | 'kind'> {
  kind: SealKind;
}

/** Where the parts of the seal live. */
const ROOT_KEY_PLACE: EnvelopeContext = { table: 'seal', column: 'root_key_sealed', row: '1' };
export const RECOVERY_PLACE: EnvelopeContext = {
  table: 'seal',
  column: 'recovery_hash_sealed',
  row: '1',
};

/** Wraps the root key with a seal key. `nonce` is 12 random bytes. */
export function wrapRootKey(keys: {
  seal_key: Uint8Array;
  root_key: Uint8Array;
  nonce: Uint8Array;
}): Uint8Array {
  const { seal_key, root_key, nonce } = keys;
  return sealEnvelope({
    key: seal_key,
    key_id: 0,
    nonce,
    place: ROOT_KEY_PLACE,
    plaintext: root_key,
  });
}

/** The root key; undefined if this is not the seal key that it was wrapped with. */
export function openRootKey(seal_key: Uint8Array, sealed: Uint8Array): Uint8Array | undefined {
  if (seal_key.length !== KEY_LENGTH) return undefined;
  const root_key = openEnvelope({ key: seal_key, place: ROOT_KEY_PLACE, sealed });
  return root_key?.length === KEY_LENGTH ? root_key : undefined;
}

/** What is kept of a recovery key: enough to recognise it, useless for making it. */
export function recoveryHash(recovery_key: Uint8Array): Uint8Array {
  return createHmac('sha256', recovery_key).update('gatehouse recovery key').digest();
}

/** How many shares there shall be, and the field names that the caller used for them. */
export interface ShareCounts {
  shares: number;
  threshold: number;
}

/** Why there cannot be so many shares with such a threshold; undefined if there can. */
export function judgeShareCounts(
  counts: ShareCounts,
  prefix: 'secret' | 'recovery',
): string | undefined {
  const { shares, threshold } = counts;
  const [sharesField, thresholdField] = [`${prefix}_shares`, `${prefix}_threshold`];
  if (shares < 1) return `${sharesField} must be at least one, and at most ${MAX_SHARES}`;
  if (shares > MAX_SHARES) return `${sharesField} must be at most ${MAX_SHARES}`;
  if (threshold < 1) return `${thresholdField} must be at least one, and at most ${sharesField}`;
  if (threshold > shares) return `${thresholdField} cannot be larger than ${sharesField}`;
  // Each of several shares that open alone would be the key itself.
  if (threshold === 1 && shares > 1) {
    return `${thresholdField} must be greater than one for multiple shares`;
  }
  return undefined;
}

/** Splits a key into the shares that people get. The only share there is, is the key itself. */
export function makeShares(
  secret: Uint8Array,
  counts: ShareCounts,
  randomness: Uint8Array,
): Uint8Array[] {
  if (counts.shares === 1) return [Uint8Array.from(secret)];
  return splitSecret({ secret, ...counts, randomness });
}

/** Why these bytes cannot be a share where `threshold` of them are needed; undefined if they can. */
export function judgeShare(share: Uint8Array, threshold: number): string | undefined {
  const length = threshold === 1 ? KEY_LENGTH : KEY_LENGTH + 1;
  return share.length === length
    ? undefined
    : `'key' must be a share of ${length} bytes, as hex or base64; these are ${share.length}`;
}
