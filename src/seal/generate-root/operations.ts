import { prepareRootToken } from '../../access/tokens/minting.operations.ts';
import { noteToken } from '../../access/tokens/recorded.ts';
import {
  encodeToken,
  oneTimePassword,
  TOKEN_LENGTH,
  TOKEN_RANDOMNESS,
} from '../../access/tokens/token-format.ts';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { invalid } from '../../core/failure.ts';
import type { Seal } from '../seal.ts';
import {
  addShare,
  collectedKey,
  isAbandoned,
  isComplete,
  type ShareCollection,
  startCollection,
  wipeCollection,
} from '../share-collection.ts';
import { deriveHashes } from '../share-hash.ts';
import { isCurrentKey, requireShare } from '../share-verification.ts';
import { holdSeal, saveShareHashes } from '../store.ts';
import { putShownInForce, recordFirst, requireSeal } from '../unsealing.operations.ts';
import type { RootStatus } from './status.ts';

/** A root token that was asked for: it is made when enough share holders agree. */
interface RootAttempt {
  collection: ShareCollection;
  /** Known to who started it; the token leaves the server hidden in it. */
  otp: string;
}

const memoryOf = perApp<{ attempt: RootAttempt | undefined }>((app) => {
  const memory: { attempt: RootAttempt | undefined } = { attempt: undefined };
  app.barrier.onSeal(() => drop(app));
  return memory;
});

function drop(app: App): void {
  const memory = memoryOf(app);
  wipeCollection(memory.attempt?.collection);
  memory.attempt = undefined;
}

/** The attempt under way; an abandoned one does not count. */
function findAttempt(app: App): RootAttempt | undefined {
  const { attempt } = memoryOf(app);
  if (attempt !== undefined && isAbandoned(attempt.collection, app.now())) drop(app);
  return memoryOf(app).attempt;
}

function statusOf(attempt: RootAttempt | undefined, required: number): RootStatus {
  return {
    nonce: attempt?.collection.nonce ?? '',
    started: attempt !== undefined,
    progress: attempt?.collection.shares.length ?? 0,
    required,
    complete: false,
    otp: '',
    encoded_token: '',
  };
}

/** @throws Failure `invalid` if nobody holds shares that could prove anything */
async function requireShareHolders(app: App): Promise<Seal> {
  const seal = await requireSeal(app);
  if (seal.threshold === 0) {
    throw invalid('there is no recovery key: none was asked for at initialisation');
  }
  return seal;
}

export async function readRootGeneration(app: App): Promise<RootStatus> {
  const seal = await requireShareHolders(app);
  return statusOf(findAttempt(app), seal.threshold);
}

/**
 * Starts a root generation.
 *
 * @param input.otp as long as a token; made here, and told once, unless given
 * @param input.key one of the shares, by whoever finds an attempt that nobody gave a share for: it makes
 *   room, so that nobody without a share keeps the place
 */
export async function startRootGeneration(
  app: App,
  caller: Caller,
  input: { otp: string | undefined; key?: string | undefined },
): Promise<RootStatus> {
  const seal = await requireShareHolders(app);
  const given = input.otp ?? '';
  if (given !== '' && Buffer.byteLength(given, 'utf8') !== TOKEN_LENGTH) {
    throw invalid(`OTP string is wrong length: otp must have ${TOKEN_LENGTH} bytes`);
  }
  if (input.key) requireShare(input.key, seal).fill(0);
  await recordFirst(app, caller, () => requireRoom(app, Boolean(input.key)));
  drop(app);
  const otp = given === '' ? oneTimePassword(app.randomBytes(TOKEN_RANDOMNESS)) : given;
  const attempt = { collection: startCollection(app.newId(), seal, app.now()), otp };
  memoryOf(app).attempt = attempt;
  return { ...statusOf(attempt, seal.threshold), otp: given === '' ? otp : '' };
}

/** @throws Failure `invalid` if there is an attempt that may not be put aside */
function requireRoom(app: App, shows_share: boolean): void {
  const attempt = findAttempt(app);
  if (attempt === undefined || (shows_share && attempt.collection.shares.length === 0)) return;
  throw invalid('root generation already in progress');
}

export async function cancelRootGeneration(app: App, caller: Caller): Promise<void> {
  await app.commit(caller, []);
  drop(app);
}

/** @throws Failure `invalid` unless it is under way, for the keys in use and under this nonce */
function requireAttempt(app: App, seal: Seal, nonce: string | undefined): RootAttempt {
  const attempt = findAttempt(app);
  if (attempt === undefined) throw invalid('no root generation in progress');
  const { collection } = attempt;
  if (nonce !== collection.nonce) {
    throw invalid(
      `incorrect nonce supplied; nonce for this root generation operation is "${collection.nonce}"`,
    );
  }
  if (collection.generation !== seal.generation) {
    drop(app);
    throw invalid('the keys were changed in the meantime: start over');
  }
  return attempt;
}

/**
 * Takes one share. With the last, a root token is made and told, hidden in the one-time
 * password.
 *
 * @throws Failure `invalid` for what is no share of the key in use: it does not count, and those given
 *   before stay
 */
export async function updateRootGeneration(
  app: App,
  caller: Caller,
  input: { key: string | undefined; nonce: string | undefined },
): Promise<RootStatus> {
  await putShownInForce(app, caller, input.key);
  const seal = await requireShareHolders(app);
  requireAttempt(app, seal, input.nonce);
  const share = requireShare(input.key, seal);
  const attempt = await recordFirst(app, caller, () => requireAttempt(app, seal, input.nonce));
  attempt.collection = addShare(attempt.collection, share, app.now());
  if (!isComplete(attempt.collection)) return statusOf(attempt, seal.threshold);
  caller.recorded = false;
  const hashes = proveShares(app, seal, attempt);
  memoryOf(app).attempt = undefined;
  const { client_token, token, effects } = prepareRootToken(app);
  noteToken(caller, token);
  await app.commit(caller, [
    holdSeal(seal),
    ...(hashes ? [saveShareHashes(seal, hashes)] : []),
    ...effects,
  ]);
  return {
    ...statusOf(attempt, seal.threshold),
    progress: seal.threshold,
    complete: true,
    encoded_token: encodeToken(client_token, attempt.otp),
  };
}

/**
 * Makes sure that the collected shares make the key, and wipes them.
 *
 * @returns the hashes of all shares, if they were not known
 * @throws Failure `invalid` if they do not, which shows at the end only where the hashes are not known
 */
function proveShares(app: App, seal: Seal, attempt: RootAttempt): Uint8Array | undefined {
  const { collection } = attempt;
  const key = collectedKey(collection);
  const isRight = key !== undefined && isCurrentKey(app.barrier, seal, key);
  key?.fill(0);
  const hashes =
    isRight && seal.share_hashes === null ? deriveHashes(collection.shares, seal) : undefined;
  wipeCollection(collection);
  attempt.collection = startCollection(collection.nonce, seal, app.now());
  if (!isRight) throw invalid('the shares do not make the key: all of them are needed again');
  return hashes;
}
