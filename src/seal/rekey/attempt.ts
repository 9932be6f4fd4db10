import { z } from 'zod';
import type { Seal, ShareCounts } from '../seal.ts';
import { isAbandoned, type ShareCollection } from '../share-collection.ts';

/** Which key gets new shares: the seal key of `shamir`, or the recovery key of `keyfile`. */
export type RekeyTarget = 'secret' | 'recovery';

/** A rekeying that has been started: holders of the present shares bring them, one by one. */
export interface RekeyAttempt {
  /** What the new key is to be split into. */
  counts: ShareCounts;
  verification_required: boolean;
  collection: ShareCollection;
  /** The new key, made but not yet in force: its holders are to show that they got it. */
  pending: PendingKey | undefined;
}

export interface PendingKey {
  key: Uint8Array;
  /** What will be stored. */
  seal: Seal;
  collection: ShareCollection;
}

/** As {@link isAbandoned}; new shares have been handed out to people who need time to show them. */
export function isRekeyLeft(attempt: RekeyAttempt, now: number): boolean {
  const { collection, pending } = attempt;
  return isAbandoned(pending?.collection ?? collection, now, pending !== undefined);
}

const collectionFields = {
  nonce: z.string().describe('Names the attempt.'),
  started: z.boolean(),
  t: z.int().describe('Shares that will make the key.'),
  n: z.int().describe('Shares that there will be.'),
  progress: z.int().describe('Shares given so far.'),
};
/** Never made: shares are told once, and as they are. */
const unsupported = { pgp_fingerprints: z.null(), backup: z.boolean() };
const verificationFields = {
  verification_required: z.boolean(),
  verification_nonce: z.string().optional().describe('Names the verification of the new shares.'),
};

/** The answer of `sys/rekey/init` and of a `sys/rekey/update` that was not the last. */
export const rekeyStatusSchema = z.object({
  ...collectionFields,
  required: z.int().describe('How many of the present shares are needed.'),
  ...unsupported,
  ...verificationFields,
});
export type RekeyStatus = z.output<typeof rekeyStatusSchema>;

/** The answer of a `sys/rekey/update` with the last share. */
export const newSharesSchema = z.object({
  nonce: z.string(),
  complete: z.literal(true),
  keys: z.array(z.string()).describe('The new shares as hex.'),
  keys_base64: z.array(z.string()),
  ...unsupported,
  ...verificationFields,
});

/** The answer of `sys/rekey/verify`, before the last share and with it. */
export const verificationSchema = z.object(collectionFields);
export const verifiedSchema = z.object({ nonce: z.string(), complete: z.literal(true) });
export type VerificationStatus = z.output<typeof verificationSchema>;

/** @param required how many of the present shares are needed */
export function rekeyStatus(attempt: RekeyAttempt | undefined, required: number): RekeyStatus {
  return {
    nonce: attempt?.collection.nonce ?? '',
    started: attempt !== undefined,
    t: attempt?.counts.threshold ?? 0,
    n: attempt?.counts.shares ?? 0,
    progress: attempt?.collection.shares.length ?? 0,
    required: attempt?.collection.required ?? required,
    pgp_fingerprints: null,
    backup: false,
    verification_required: attempt?.verification_required ?? false,
    ...(attempt?.pending && { verification_nonce: attempt.pending.collection.nonce }),
  };
}

export function verificationStatus(attempt: RekeyAttempt, pending: PendingKey): VerificationStatus {
  return {
    nonce: pending.collection.nonce,
    started: true,
    t: attempt.counts.threshold,
    n: attempt.counts.shares,
    progress: pending.collection.shares.length,
  };
}
