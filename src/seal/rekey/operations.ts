import { timingSafeEqual } from 'node:crypto';
import type { Caller } from '../../access/caller.ts';
import { type App, perApp } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import { KEY_LENGTH, NONCE_LENGTH } from '../envelope.ts';
import { addShare, gatheredKey, isComplete, startGathering, wipeGathering } from '../gathering.ts';
import { requireSeal, splitKey } from '../operations.ts';
import { isCurrentKey, requireShare } from '../proof.ts';
import {
  judgeShareCounts,
  openRootKey,
  RECOVERY_PLACE,
  recoveryHash,
  type Seal,
  type ShareCounts,
  wrapRootKey,
} from '../seal.ts';
import { replaceSeal } from '../store.ts';
import {
  type PendingKey,
  type RekeyAttempt,
  type RekeyTarget,
  rekeyStatus,
  verificationStatus,
} from './attempt.ts';

type Attempts = Record<RekeyTarget, RekeyAttempt | undefined>;

/** Under way at this node; sealing it ends them. */
const attemptsOf = perApp<Attempts>((app) => {
  const attempts: Attempts = { secret: undefined, recovery: undefined };
  app.barrier.onLock(() => {
    drop(attempts, 'secret');
    drop(attempts, 'recovery');
  });
  return attempts;
});

function drop(attempts: Attempts, target: RekeyTarget): void {
  const attempt = attempts[target];
  wipeGathering(attempt?.gathering);
  wipeGathering(attempt?.pending?.gathering);
  attempt?.pending?.key.fill(0);
  attempts[target] = undefined;
}

/** @throws Failure `invalid` if this seal has no such key */
async function requireRekeyable(app: App, target: RekeyTarget): Promise<Seal> {
  const seal = await requireSeal(app);
  if (target === 'secret' && seal.kind !== 'shamir') {
    throw new Failure(
      'invalid',
      `rekeying is not supported for seal type ${seal.kind}: its key has no shares; use sys/rekey-recovery-key`,
    );
  }
  if (target === 'recovery' && seal.kind !== 'keyfile') {
    throw new Failure('invalid', 'recovery rekeying not supported: use sys/rekey');
  }
  if (seal.threshold === 0) {
    throw new Failure('invalid', 'there is no recovery key: none was asked for at initialisation');
  }
  return seal;
}

export async function readRekey(app: App, target: RekeyTarget): Promise<Record<string, unknown>> {
  const seal = await requireRekeyable(app, target);
  return rekeyStatus(attemptsOf(app)[target], seal.threshold);
}

/**
 * Starts a rekeying; nothing changes before enough holders of the present shares have come.
 *
 * @throws Failure `invalid` for impossible counts, or if one is under way
 */
export async function startRekey(
  app: App,
  input: ShareCounts & { target: RekeyTarget; require_verification: boolean },
): Promise<Record<string, unknown>> {
  const { target, shares, threshold } = input;
  const seal = await requireRekeyable(app, target);
  const because = judgeShareCounts(input, 'secret');
  if (because !== undefined)
    throw new Failure('invalid', `invalid rekey configuration: ${because}`);
  const attempts = attemptsOf(app);
  if (attempts[target] !== undefined) throw new Failure('invalid', 'rekey already in progress');
  const attempt: RekeyAttempt = {
    counts: { shares, threshold },
    verification_required: input.require_verification,
    gathering: startGathering(app.newId(), seal.threshold),
    pending: undefined,
  };
  attempts[target] = attempt;
  return rekeyStatus(attempt, seal.threshold);
}

/** @throws Failure `invalid` for the nonce of another attempt */
export function cancelRekey(app: App, target: RekeyTarget, nonce: string | undefined): void {
  const attempts = attemptsOf(app);
  const attempt = attempts[target];
  if (attempt !== undefined && nonce) requireNonce(nonce, attempt.gathering.nonce);
  drop(attempts, target);
}

function requireNonce(given: string | undefined, expected: string): void {
  if (given !== expected) {
    throw new Failure(
      'invalid',
      `incorrect nonce supplied; nonce for this rekey operation is "${expected}"`,
    );
  }
}

interface ShareInput {
  target: RekeyTarget;
  key?: string | undefined;
  nonce?: string | undefined;
}

/** What came of a share: more are needed, or the new shares. Who hands these out wipes them. */
export type RekeyOutcome =
  | { complete: false; status: Record<string, unknown> }
  | {
      complete: true;
      nonce: string;
      shares: Uint8Array[];
      verification_nonce: string | undefined;
    };

/**
 * Takes one share of the present key. With the last, the new key is made, and is in force at
 * once unless its holders are to show their shares first.
 *
 * @throws Failure `invalid` for what is no share, or for shares that do not make the key, which
 *   are all forgotten then
 */
export async function updateRekey(
  app: App,
  caller: Caller,
  input: ShareInput,
): Promise<RekeyOutcome> {
  const { target } = input;
  const seal = await requireRekeyable(app, target);
  const attempts = attemptsOf(app);
  const attempt = attempts[target];
  if (attempt === undefined) throw new Failure('invalid', 'no rekey in progress');
  const { nonce } = attempt.gathering;
  requireNonce(input.nonce, nonce);
  if (attempt.pending !== undefined) {
    throw new Failure('invalid', 'the new shares are made already: verify them, or cancel');
  }
  if (attempt.gathering.required !== seal.threshold) {
    drop(attempts, target);
    throw new Failure('invalid', 'the keys were changed in the meantime: start over');
  }
  attempt.gathering = addShare(attempt.gathering, requireShare(input.key, seal.threshold));
  if (!isComplete(attempt.gathering)) {
    return { complete: false, status: rekeyStatus(attempt, seal.threshold) };
  }
  const old_key = gatheredKey(attempt.gathering);
  wipeGathering(attempt.gathering);
  attempt.gathering = startGathering(nonce, seal.threshold);
  if (old_key === undefined || !isCurrentKey(app.barrier, seal, old_key)) {
    old_key?.fill(0);
    throw new Failure('invalid', 'the shares do not make the key: all of them are needed again');
  }
  const pending = makeKey(app, seal, { target, old_key, counts: attempt.counts });
  old_key.fill(0);
  const shares = splitKey(app, pending.key, attempt.counts);
  if (attempt.verification_required) {
    attempt.pending = pending;
    return { complete: true, nonce, shares, verification_nonce: pending.gathering.nonce };
  }
  pending.key.fill(0);
  drop(attempts, target);
  await app.commit(caller, [replaceSeal(pending.seal)]);
  return { complete: true, nonce, shares, verification_nonce: undefined };
}

/** Makes the new key and what is stored of it. The root key itself stays as it is. */
function makeKey(
  app: App,
  seal: Seal,
  input: { target: RekeyTarget; old_key: Uint8Array; counts: ShareCounts },
): PendingKey {
  const key = app.randomBytes(KEY_LENGTH);
  const next = { ...seal, ...input.counts, generation: seal.generation + 1 };
  const gathering = startGathering(app.newId(), input.counts.threshold);
  if (input.target === 'recovery') {
    const recovery_hash_sealed = app.barrier.seal('config', RECOVERY_PLACE, recoveryHash(key));
    return { key, seal: { ...next, recovery_hash_sealed }, gathering };
  }
  const root_key = openRootKey(input.old_key, seal.root_key_sealed);
  if (root_key === undefined) throw new Error('the key was the right one a moment ago');
  const nonce = app.randomBytes(NONCE_LENGTH);
  const root_key_sealed = wrapRootKey({ seal_key: key, root_key, nonce });
  root_key.fill(0);
  return { key, seal: { ...next, root_key_sealed }, gathering };
}

/** @throws Failure `invalid` unless new shares wait to be verified */
function requirePending(app: App, target: RekeyTarget): [RekeyAttempt, PendingKey] {
  const attempt = attemptsOf(app)[target];
  if (attempt?.pending === undefined) {
    throw new Failure('invalid', 'no rekey verification in progress');
  }
  return [attempt, attempt.pending];
}

export function readVerification(app: App, target: RekeyTarget): Record<string, unknown> {
  return verificationStatus(...requirePending(app, target));
}

/**
 * Takes one of the new shares. With the last, the new key is in force.
 *
 * @throws Failure `invalid` for shares that do not make the new key: verification starts over
 *   under a new nonce, and the old key stays in force
 */
export async function verifyRekey(
  app: App,
  caller: Caller,
  input: ShareInput,
): Promise<Record<string, unknown>> {
  const [attempt, pending] = requirePending(app, input.target);
  const { nonce } = pending.gathering;
  requireNonce(input.nonce, nonce);
  const share = requireShare(input.key, attempt.counts.threshold);
  pending.gathering = addShare(pending.gathering, share);
  if (!isComplete(pending.gathering)) return verificationStatus(attempt, pending);
  const key = gatheredKey(pending.gathering);
  const isRight = key !== undefined && timingSafeEqual(key, pending.key);
  key?.fill(0);
  restartGathering(app, pending);
  if (!isRight) {
    throw new Failure('invalid', 'rekey verification failed: the shares do not make the new key');
  }
  drop(attemptsOf(app), input.target);
  await app.commit(caller, [replaceSeal(pending.seal)]);
  return { nonce, complete: true };
}

/** Forgets the new shares shown so far, under a new nonce; the attempt itself goes on. */
export function restartVerification(app: App, target: RekeyTarget): Record<string, unknown> {
  const [attempt, pending] = requirePending(app, target);
  restartGathering(app, pending);
  return verificationStatus(attempt, pending);
}

function restartGathering(app: App, pending: PendingKey): void {
  const { required } = pending.gathering;
  wipeGathering(pending.gathering);
  pending.gathering = startGathering(app.newId(), required);
}
