import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../../../access/caller.ts';
import type { App } from '../../../app.ts';
import { Failure } from '../../../core/failure.ts';
import type { Seal } from '../../seal.ts';
import { replaceSeal } from '../../store.ts';
import { requireSeal } from '../../unsealing/operations.ts';

/** Whether nobody knows what became of a write set. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof Failure && error.kind === 'unavailable';

const ATTEMPTS = 8;
const PAUSE_MS = 250;

/**
 * Makes a new seal durable. A database that confirms nothing may have it all the same: then it refuses
 * to take it again, and what it has is the new one.
 */
export async function putInForce(app: App, caller: Caller, seal: Seal): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await app.commit(caller, [replaceSeal(seal)]);
    } catch (error) {
      if (isUnavailable(error) && attempt < ATTEMPTS) await setTimeout(PAUSE_MS);
      else if (isUnavailable(error) || !(await isStored(app, seal))) throw error;
      else return;
    }
  }
}

async function isStored(app: App, seal: Seal): Promise<boolean> {
  const stored = await requireSeal(app);
  return isDeepStrictEqual(textOf(stored), textOf(seal));
}

/** What a seal is told by, whatever its engine makes of bytes. */
const textOf = ({ generation, root_key_sealed, recovery_hash_sealed }: Seal): string[] =>
  [root_key_sealed, recovery_hash_sealed ?? new Uint8Array()]
    .map((bytes) => Buffer.from(bytes).toString('hex'))
    .concat(String(generation));
