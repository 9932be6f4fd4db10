import type { Seal, ShareCounts } from '../seal.ts';
import { type Gathering, isLeft } from '../share-collection.ts';

/** Which key gets new shares: the seal key of `shamir`, or the recovery key of `keyfile`. */
export type RekeyTarget = 'secret' | 'recovery';

/** A rekeying that has been started: holders of the present shares bring them, one by one. */
export interface RekeyAttempt {
  /** What the new key is to be split into. */
  counts: ShareCounts;
  verification_required: boolean;
  gathering: Gathering;
  /** The new key, made but not yet in force: its holders are to show that they got it. */
  pending: PendingKey | undefined;
}

export interface PendingKey {
  key: Uint8Array;
  /** What will be stored. */
  seal: Seal;
  gathering: Gathering;
}

/** As {@link isLeft}; new shares have been handed out to people who need time to show them. */
export function isRekeyLeft(attempt: RekeyAttempt, now: number): boolean {
  const { gathering, pending } = attempt;
  return isLeft(pending?.gathering ?? gathering, now, pending !== undefined);
}

/**
 * The answer of `sys/rekey/init` and of a `sys/rekey/update` that was not the last.
 *
 * @param required how many of the present shares are needed
 */
export function rekeyStatus(
  attempt: RekeyAttempt | undefined,
  required: number,
): Record<string, unknown> {
  return {
    nonce: attempt?.gathering.nonce ?? '',
    started: attempt !== undefined,
    t: attempt?.counts.threshold ?? 0,
    n: attempt?.counts.shares ?? 0,
    progress: attempt?.gathering.shares.length ?? 0,
    required: attempt?.gathering.required ?? required,
    pgp_fingerprints: null,
    backup: false,
    verification_required: attempt?.verification_required ?? false,
    ...(attempt?.pending && { verification_nonce: attempt.pending.gathering.nonce }),
  };
}

/** The answer of `sys/rekey/verify` until the last share. */
export function verificationStatus(
  attempt: RekeyAttempt,
  pending: PendingKey,
): Record<string, unknown> {
  return {
    nonce: pending.gathering.nonce,
    started: true,
    t: attempt.counts.threshold,
    n: attempt.counts.shares,
    progress: pending.gathering.shares.length,
  };
}
