import { timingSafeEqual } from 'node:crypto';
import type { z } from 'zod';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import {
  addShare,
  collectedKey,
  isComplete,
  startCollection,
  wipeCollection,
} from '../share-collection.ts';
import { requireShare } from '../share-verification.ts';
import { replaceSeal } from '../store.ts';
import { recordFirst, requireSeal } from '../unsealing.operations.ts';
import {
  type PendingKey,
  type RekeyAttempt,
  type RekeyTarget,
  type VerificationStatus,
  verificationStatus,
  type verifiedSchema,
} from './attempt.ts';
import {
  attemptsOf,
  drop,
  findAttempt,
  requireNonce,
  type ShareInput,
} from './attempts.operations.ts';
import { requireFreePlace } from './confirmation.operations.ts';

/** @throws Failure `invalid` unless new shares wait to be verified */
function requirePending(app: App, target: RekeyTarget): [RekeyAttempt, PendingKey] {
  const attempt = findAttempt(app, target);
  if (attempt?.pending === undefined) throw invalid('no rekey verification in progress');
  return [attempt, attempt.pending];
}

export function readVerification(app: App, target: RekeyTarget): VerificationStatus {
  return verificationStatus(...requirePending(app, target));
}

/**
 * Takes one of the new shares. With the last, the new key is in force.
 *
 * @throws Failure `invalid` for what is no share of the new key: it does not count, and those shown
 *   before stay
 */
export async function verifyRekey(
  app: App,
  caller: Caller,
  { target, key, nonce }: ShareInput,
): Promise<VerificationStatus | z.output<typeof verifiedSchema>> {
  const judge = (): [RekeyAttempt, PendingKey] => {
    const found = requirePending(app, target);
    requireNonce(nonce, found[1].collection.nonce);
    return found;
  };
  const share = requireShare(key, judge()[1].seal);
  const aside = await requireFreePlace(app, await requireSeal(app));
  const [attempt, pending] = await recordFirst(app, caller, judge);
  pending.collection = addShare(pending.collection, share, app.now());
  if (!isComplete(pending.collection)) return verificationStatus(attempt, pending);
  caller.recorded = false;
  const made = collectedKey(pending.collection);
  const isRight = made !== undefined && timingSafeEqual(made, pending.key);
  made?.fill(0);
  if (!isRight) throw new Error('shares that were each of the new key do not make it');
  drop(attemptsOf(app), target);
  await app.commit(caller, replaceSeal(pending.seal, aside));
  return { nonce: pending.collection.nonce, complete: true };
}

/** Forgets the new shares shown so far, under a new nonce; the attempt itself goes on. */
export async function restartVerification(
  app: App,
  caller: Caller,
  target: RekeyTarget,
): Promise<VerificationStatus> {
  const [attempt, pending] = await recordFirst(app, caller, () => requirePending(app, target));
  wipeCollection(pending.collection);
  pending.collection = startCollection(app.newId(), pending.seal, app.now());
  return verificationStatus(attempt, pending);
}
