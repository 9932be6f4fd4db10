import type { Caller } from '../../access/caller.ts';
import { createRootToken } from '../../access/tokens/minting/operations.ts';
import { type App, perApp } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import {
  addShare,
  type Gathering,
  gatheredKey,
  isComplete,
  startGathering,
  wipeGathering,
} from '../gathering.ts';
import { requireSeal } from '../operations.ts';
import { isCurrentKey, requireShare } from '../proof.ts';
import type { Seal } from '../seal.ts';
import { encodeToken, oneTimePassword, TOKEN_LENGTH, TOKEN_RANDOMNESS } from '../token-format.ts';

/** A root token that was asked for: it is made when enough share holders agree. */
interface RootAttempt {
  gathering: Gathering;
  /** Known to who started it; the token leaves the server hidden in it. */
  otp: string;
}

const memoryOf = perApp<{ attempt: RootAttempt | undefined }>((app) => {
  const memory: { attempt: RootAttempt | undefined } = { attempt: undefined };
  app.barrier.onLock(() => {
    wipeGathering(memory.attempt?.gathering);
    memory.attempt = undefined;
  });
  return memory;
});

/** How a root generation stands; `otp` and `encoded_token` are each told once. */
export interface RootStatus {
  nonce: string;
  started: boolean;
  progress: number;
  required: number;
  complete: boolean;
  otp: string;
  encoded_token: string;
}

function statusOf(attempt: RootAttempt | undefined, required: number): RootStatus {
  return {
    nonce: attempt?.gathering.nonce ?? '',
    started: attempt !== undefined,
    progress: attempt?.gathering.shares.length ?? 0,
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
    throw new Failure('invalid', 'there is no recovery key: none was asked for at initialisation');
  }
  return seal;
}

export async function readRootGeneration(app: App): Promise<RootStatus> {
  const seal = await requireShareHolders(app);
  return statusOf(memoryOf(app).attempt, seal.threshold);
}

/**
 * Starts a root generation.
 *
 * @param input.otp as long as a token; made here, and told once, unless given
 */
export async function startRootGeneration(
  app: App,
  input: { otp: string | undefined },
): Promise<RootStatus> {
  const seal = await requireShareHolders(app);
  const given = input.otp ?? '';
  if (given !== '' && Buffer.byteLength(given, 'utf8') !== TOKEN_LENGTH) {
    throw new Failure('invalid', `OTP string is wrong length: otp must have ${TOKEN_LENGTH} bytes`);
  }
  const memory = memoryOf(app);
  if (memory.attempt !== undefined) {
    throw new Failure('invalid', 'root generation already in progress');
  }
  const otp = given === '' ? oneTimePassword(app.randomBytes(TOKEN_RANDOMNESS)) : given;
  memory.attempt = { gathering: startGathering(app.newId(), seal.threshold), otp };
  return { ...statusOf(memory.attempt, seal.threshold), otp: given === '' ? otp : '' };
}

export function cancelRootGeneration(app: App): void {
  const memory = memoryOf(app);
  wipeGathering(memory.attempt?.gathering);
  memory.attempt = undefined;
}

/**
 * Takes one share. With the last, a root token is made and told, hidden in the one-time
 * password.
 *
 * @throws Failure `invalid` for what is no share, or for shares that do not make the key, which
 *   are all forgotten then
 */
export async function updateRootGeneration(
  app: App,
  caller: Caller,
  input: { key: string | undefined; nonce: string | undefined },
): Promise<RootStatus> {
  const seal = await requireShareHolders(app);
  const memory = memoryOf(app);
  const { attempt } = memory;
  if (attempt === undefined) throw new Failure('invalid', 'no root generation in progress');
  const { nonce } = attempt.gathering;
  if (input.nonce !== nonce) {
    throw new Failure(
      'invalid',
      `incorrect nonce supplied; nonce for this root generation operation is "${nonce}"`,
    );
  }
  if (attempt.gathering.required !== seal.threshold) {
    cancelRootGeneration(app);
    throw new Failure('invalid', 'the keys were changed in the meantime: start over');
  }
  attempt.gathering = addShare(attempt.gathering, requireShare(input.key, seal.threshold));
  if (!isComplete(attempt.gathering)) return statusOf(attempt, seal.threshold);
  const key = gatheredKey(attempt.gathering);
  wipeGathering(attempt.gathering);
  attempt.gathering = startGathering(nonce, seal.threshold);
  const isRight = key !== undefined && isCurrentKey(app.barrier, seal, key);
  key?.fill(0);
  if (!isRight) {
    throw new Failure('invalid', 'the shares do not make the key: all of them are needed again');
  }
  memory.attempt = undefined;
  const { client_token } = await createRootToken(app, caller);
  return {
    ...statusOf(attempt, seal.threshold),
    progress: seal.threshold,
    complete: true,
    encoded_token: encodeToken(client_token, attempt.otp),
  };
}
