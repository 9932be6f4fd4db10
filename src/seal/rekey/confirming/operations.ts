import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../../../access/caller.ts';
import type { App } from '../../../app.ts';
import { Failure } from '../../../core/failure.ts';
import type { Seal } from '../../seal.ts';
import { holdSeal, replaceSeal, saveNextSeal } from '../../store.ts';
import { requireSeal } from '../../unsealing/operations.ts';

/** Whether nobody knows what became of a write set. */
const isUnavailable = (error: unknown): boolean =>
  error instanceof Failure && error.kind === 'unavailable';

const ATTEMPTS = 8;
const PAUSE_MS = 250;

/**
 * Puts a new seal in force, in two steps, since a database may write what it never confirms. First the new one is
 * stored beside that of before, whose shares go on being the right ones: whatever becomes of this step, they are.
 * Once it is stored its shares are the right ones, whatever becomes of the second step: they are in force by
 * it, or as soon as the first of them is shown; until then those of before go on.
 *
 * @throws Failure `unavailable` when the first step was not confirmed, `conflict` when the seal was replaced meanwhile
 */
export async function putInForce(
  app: App,
  caller: Caller,
  { before, next }: { before: Seal; next: Seal },
): Promise<{ confirmed: boolean }> {
  await app.commit(caller, [holdSeal(before), saveNextSeal(next)]);
  caller.recorded = false;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    try {
      await app.commit(caller, [replaceSeal(next)]);
      return { confirmed: true };
    } catch (error) {
      if (!isUnavailable(error)) {
        if (!(await isStored(app, next))) throw error;
        // By an attempt that was not confirmed, and its record with it.
        caller.recorded = true;
        return { confirmed: true };
      }
      await setTimeout(PAUSE_MS);
    }
  }
  // The first step has a record; no other can be had.
  caller.recorded = true;
  app.log.warn(
    { generation: next.generation },
    'new shares are in force once one of them is shown',
  );
  return { confirmed: false };
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
