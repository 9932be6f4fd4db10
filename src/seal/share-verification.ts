import { timingSafeEqual } from 'node:crypto';
import type { Barrier } from '../barrier/barrier.ts';
import { invalid } from '../core/failure.ts';
import { judgeShare, openRootKey, RECOVERY_PLACE, recoveryHash, type Seal } from './seal.ts';
import { isOneOf } from './share-hash.ts';
import { parseShare } from './share-text.ts';

/**
 * Whether a collected key is the one whose shares people hold: the seal key, which opens the
 * root key in use, or the recovery key.
 *
 * The stored row alone would not do as the judge: who can write to the database could put a
 * root key of their own there, wrapped with a seal key of their own.
 *
 * @throws Failure `unavailable` when sealed
 */
export function isCurrentKey(barrier: Barrier, seal: Seal, key: Uint8Array): boolean {
  if (seal.kind === 'shamir') {
    const root_key = openRootKey(key, seal.root_key_sealed);
    const known = root_key !== undefined && barrier.holdsRootKey(root_key);
    root_key?.fill(0);
    return known;
  }
  if (seal.recovery_hash_sealed === null) return false;
  const hash = barrier.decrypt('config', RECOVERY_PLACE, seal.recovery_hash_sealed);
  return timingSafeEqual(recoveryHash(key), hash);
}

/** Whether a text is a share of a key, of which the hashes are known. */
export function isShareOf(text: string, { share_hashes }: Pick<Seal, 'share_hashes'>): boolean {
  const share = parseShare(text);
  const isOurs = share !== undefined && share_hashes !== null && isOneOf(share_hashes, share);
  share?.fill(0);
  return isOurs;
}

/**
 * Reads a share that came with a request, and judges it by itself: a wrong one never comes among the
 * right ones, so that nobody has to forget those.
 *
 * @param seal whose share it should be; without `share_hashes` only its form can be judged
 * @throws Failure `invalid` without telling anything of the share
 */
export function requireShare(
  text: string | undefined,
  seal: Pick<Seal, 'threshold' | 'share_hashes'>,
): Uint8Array {
  if (text === undefined || text === '') {
    throw invalid("'key' must be specified in request body as JSON");
  }
  const share = parseShare(text);
  if (share === undefined) throw invalid("'key' must be a valid hex or base64 string");
  const because = judgeShare(share, seal.threshold);
  if (because !== undefined) throw invalid(because);
  if (seal.share_hashes !== null && !isOneOf(seal.share_hashes, share)) {
    throw invalid(
      "invalid key: 'key' is none of the shares of this key; those that were given before stay",
    );
  }
  return share;
}
