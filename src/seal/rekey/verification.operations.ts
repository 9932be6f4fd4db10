import { timingSafeEqual } from 'node:crypto';
import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import {
  addShare,
  gatheredKey,
  isComplete,
  startGathering,
  wipeGathering,
} from '../share-collection.ts';
import { requireShare } from '../share-verification.ts';
import { replaceSeal } from '../store.ts';
import { recordFirst, requireSeal } from '../unsealing.operations.ts';
import {
  type PendingKey,
  type RekeyAttempt,
  type RekeyTarget,
  verificationStatus,
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

export function readVerification(app: App, target: RekeyTarget): Record<string, unknown> {
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
): Promise<Record<string, unknown>> {
  const judge = (): [RekeyAttempt, PendingKey] => {
    const found = requirePending(app, target);
    requireNonce(nonce, found[1].gathering.nonce);
    return found;
  };
  const share = requireShare(key, judge()[1].seal);
  const aside = await requireFreePlace(app, await requireSeal(app));
  const [attempt, pending] = await recordFirst(app, caller, judge);
  pending.gathering = addShare(pending.gathering, share, app.now());
  if (!isComplete(pending.gathering)) return verificationStatus(attempt, pending);
  caller.recorded = false;
  const made = gatheredKey(pending.gathering);
  const isRight = made !== undefined && timingSafeEqual(made, pending.key);
  made?.fill(0);
  if (!isRight) throw new Error('shares that were each of the new key do not make it');
  drop(attemptsOf(app), target);
  await app.commit(caller, replaceSeal(pending.seal, aside));
  return { nonce, complete: true };
}

/** Forgets the new shares shown so far, under a new nonce; the attempt itself goes on. */
export async function restartVerification(
  app: App,
  caller: Caller,
  target: RekeyTarget,
): Promise<Record<string, unknown>> {
  const [attempt, pending] = await recordFirst(app, caller, () => requirePending(app, target));
  wipeGathering(pending.gathering);
  pending.gathering = startGathering(app.newId(), pending.seal, app.now());
  return verificationStatus(attempt, pending);
}
