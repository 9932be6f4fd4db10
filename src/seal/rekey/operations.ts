import type { App } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { KEY_LENGTH, NONCE_LENGTH } from '../../barrier/envelope.ts';
import { invalid } from '../../core/failure.ts';
import { splitKey } from '../operations.ts';
import {
  judgeShareCounts,
  openRootKey,
  opensByItself,
  RECOVERY_PLACE,
  recoveryHash,
  type Seal,
  type ShareCounts,
  wrapRootKey,
} from '../seal.ts';
import {
  addShare,
  collectedKey,
  isComplete,
  startCollection,
  wipeCollection,
} from '../share-collection.ts';
import { hashShares } from '../share-hash.ts';
import { isCurrentKey, requireShare } from '../share-verification.ts';
import { putShownInForce, recordFirst, requireSeal } from '../unsealing.operations.ts';
import {
  type PendingKey,
  type RekeyAttempt,
  type RekeyStatus,
  type RekeyTarget,
  rekeyStatus,
} from './attempt.ts';
import {
  attemptsOf,
  drop,
  findAttempt,
  requireNonce,
  type ShareInput,
} from './attempts.operations.ts';
import { noteNext, putInForce, requireFreePlace } from './confirmation.operations.ts';

/** @throws Failure `invalid` if this seal has no such key */
async function requireRekeyable(app: App, target: RekeyTarget): Promise<Seal> {
  const seal = await requireSeal(app);
  if (target === 'secret' && seal.kind !== 'shamir') {
    throw invalid(
      `rekeying is not supported for seal type ${seal.kind}: its key has no shares; use sys/rekey-recovery-key`,
    );
  }
  if (target === 'recovery' && !opensByItself(seal.kind)) {
    throw invalid('recovery rekeying not supported: use sys/rekey');
  }
  if (seal.threshold === 0) {
    throw invalid('there is no recovery key: none was asked for at initialisation');
  }
  return seal;
}

export async function readRekey(app: App, target: RekeyTarget): Promise<RekeyStatus> {
  const seal = await requireRekeyable(app, target);
  return rekeyStatus(findAttempt(app, target), seal.threshold);
}

/**
 * Starts a rekeying; nothing changes before enough holders of the present shares have come.
 *
 * @param input.key one of the shares, by whoever finds an attempt that nobody gave a share for: it makes
 *   room, so that nobody without a share keeps the place
 * @throws Failure `invalid` for impossible counts, or if one is under way
 */
export async function startRekey(
  app: App,
  caller: Caller,
  input: ShareCounts & {
    target: RekeyTarget;
    require_verification: boolean;
    key?: string | undefined;
  },
): Promise<RekeyStatus> {
  const { target, shares, threshold } = input;
  const seal = await requireRekeyable(app, target);
  const because = judgeShareCounts(input, 'secret');
  if (because !== undefined) throw invalid(`invalid rekey configuration: ${because}`);
  if (input.key) requireShare(input.key, seal).fill(0);
  await noteNext(app, seal);
  await recordFirst(app, caller, () => requireRoom(app, target, Boolean(input.key)));
  drop(attemptsOf(app), target);
  const attempt: RekeyAttempt = {
    counts: { shares, threshold },
    verification_required: input.require_verification,
    collection: startCollection(app.newId(), seal, app.now()),
    pending: undefined,
  };
  attemptsOf(app)[target] = attempt;
  return rekeyStatus(attempt, seal.threshold);
}

/** @throws Failure `invalid` if there is an attempt that may not be put aside */
function requireRoom(app: App, target: RekeyTarget, shows_share: boolean): void {
  const attempt = findAttempt(app, target);
  if (attempt === undefined) return;
  const isUntouched = attempt.pending === undefined && attempt.collection.shares.length === 0;
  if (!shows_share || !isUntouched) throw invalid('rekey already in progress');
}

/** @throws Failure `invalid` for the nonce of another attempt */
export async function cancelRekey(
  app: App,
  caller: Caller,
  { target, nonce }: { target: RekeyTarget; nonce: string | undefined },
): Promise<void> {
  await recordFirst(app, caller, () => {
    const attempt = findAttempt(app, target);
    if (attempt !== undefined && nonce) requireNonce(nonce, attempt.collection.nonce);
  });
  drop(attemptsOf(app), target);
}

/** What came of a share: more are needed, or the new shares. Who hands these out wipes them. */
export type RekeyOutcome =
  | { complete: false; status: RekeyStatus }
  | {
      complete: true;
      nonce: string;
      shares: Uint8Array[];
      verification_nonce: string | undefined;
      /** False: whether they are in force already, nobody knows. */
      confirmed: boolean;
    };

/** @throws Failure `invalid` unless it is under way, for the keys in use and under this nonce */
function requireAttempt(app: App, seal: Seal, { target, nonce }: ShareInput): RekeyAttempt {
  const attempt = findAttempt(app, target);
  if (attempt === undefined) throw invalid('no rekey in progress');
  requireNonce(nonce, attempt.collection.nonce);
  if (attempt.pending !== undefined) {
    throw invalid('the new shares are made already: verify them, or cancel');
  }
  if (attempt.collection.generation !== seal.generation) {
    drop(attemptsOf(app), target);
    throw invalid('the keys were changed in the meantime: start over');
  }
  return attempt;
}

/**
 * Takes one share of the present key. With the last, the new key is made, and is in force at
 * once unless its holders are to show their shares first.
 *
 * @throws Failure `invalid` for what is no share of the key in use: it does not count, and those given
 *   before stay
 */
export async function updateRekey(
  app: App,
  caller: Caller,
  input: ShareInput,
): Promise<RekeyOutcome> {
  const { target } = input;
  await putShownInForce(app, caller, input.key);
  const seal = await requireRekeyable(app, target);
  requireAttempt(app, seal, input);
  const share = requireShare(input.key, seal);
  const aside = await requireFreePlace(app, seal);
  const attempt = await recordFirst(app, caller, () => requireAttempt(app, seal, input));
  const { nonce } = attempt.collection;
  attempt.collection = addShare(attempt.collection, share, app.now());
  if (!isComplete(attempt.collection)) {
    return { complete: false, status: rekeyStatus(attempt, seal.threshold) };
  }
  caller.recorded = false;
  const old_key = collectedKey(attempt.collection);
  wipeCollection(attempt.collection);
  attempt.collection = startCollection(nonce, seal, app.now());
  if (old_key === undefined || !isCurrentKey(app.barrier, seal, old_key)) {
    old_key?.fill(0);
    throw invalid('the shares do not make the key: all of them are needed again');
  }
  const { pending, shares } = makeKey(app, seal, { target, old_key, counts: attempt.counts });
  old_key.fill(0);
  if (attempt.verification_required) {
    attempt.pending = pending;
    caller.recorded = true;
    const verification_nonce = pending.collection.nonce;
    return { complete: true, nonce, shares, verification_nonce, confirmed: true };
  }
  pending.key.fill(0);
  drop(attemptsOf(app), target);
  try {
    const { confirmed } = await putInForce(app, caller, {
      before: seal,
      next: pending.seal,
      aside,
    });
    return { complete: true, nonce, shares, verification_nonce: undefined, confirmed };
  } catch (error) {
    for (const share of shares) share.fill(0);
    throw error;
  }
}

/** Makes the new key, its shares, and what is stored of it. The root key itself stays as it is. */
function makeKey(
  app: App,
  seal: Seal,
  input: { target: RekeyTarget; old_key: Uint8Array; counts: ShareCounts },
): { pending: PendingKey; shares: Uint8Array[] } {
  const key = app.randomBytes(KEY_LENGTH);
  const shares = splitKey(app, key, input.counts);
  const next = {
    ...seal,
    ...input.counts,
    generation: seal.generation + 1,
    share_hashes: hashShares(shares),
  };
  const collection = startCollection(app.newId(), next, app.now());
  if (input.target === 'recovery') {
    const recovery_hash_sealed = app.barrier.encrypt('config', RECOVERY_PLACE, recoveryHash(key));
    return { pending: { key, seal: { ...next, recovery_hash_sealed }, collection }, shares };
  }
  const root_key = openRootKey(input.old_key, seal.root_key_sealed);
  if (root_key === undefined) throw new Error('the key was the right one a moment ago');
  const nonce = app.randomBytes(NONCE_LENGTH);
  const root_key_sealed = wrapRootKey({ seal_key: key, root_key, nonce });
  root_key.fill(0);
  return { pending: { key, seal: { ...next, root_key_sealed }, collection }, shares };
}
