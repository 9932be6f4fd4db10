import { createHash } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure, invalid } from '../../core/failure.ts';
import type { Seal } from '../seal.ts';
import { findNextSeal, holdSeal, replaceSeal, saveNextSeal } from '../store.ts';
import { requireSeal } from '../unsealing.operations.ts';
import { isGivenUp, type KnownNext, PATIENCE, sighted } from './next-seal.ts';

/** Whether nobody knows what became of a write set. */
const isUnavailable = (error: unknown): boolean =>
  error instanceof Failure && error.kind === 'unavailable';

const ATTEMPTS = 8;
const PAUSE_MS = 250;

const knownOf = perApp<KnownNext>(() => ({
  underway: new Set(),
  answered: undefined,
  seen: undefined,
}));

/**
 * The seal that is to follow one and that another rekeying may put aside; undefined where there is none.
 * Asked when a rekeying starts, too: from then on it is seen.
 */
async function readNextSeal(app: App, seal: Seal): Promise<{ next?: Seal; isFree: boolean }> {
  const next = await findNextSeal(app.db, seal);
  if (next === undefined) return { isFree: true };
  const known = knownOf(app);
  const [tag, now] = [tagOf(next), app.now()];
  known.seen = sighted(known.seen, tag, now);
  return { next, isFree: isGivenUp(known, tag, { now, alone: app.store.engine === 'sqlite' }) };
}

/** Takes note of a seal that is to follow, so that the wait for whoever made it begins. */
export async function noteNext(app: App, seal: Seal): Promise<void> {
  await readNextSeal(app, seal);
}

/**
 * The seal that is to follow one and may be put aside, if there is one.
 *
 * @throws Failure `invalid` while its shares may be on their way to whoever made it; what was given stays
 */
export async function requireFreePlace(app: App, seal: Seal): Promise<Seal | undefined> {
  const { next, isFree } = await readNextSeal(app, seal);
  if (isFree) return next;
  throw invalid(
    'another rekeying is being put in force, and its shares are on their way: use those, or try again in a minute',
  );
}

/**
 * Puts a new seal in force, in two steps, since a database may write what it never confirms. First the new one is
 * stored beside the former seal, whose shares go on being the right ones: whatever becomes of this step, they are.
 * Once it is stored its shares are the right ones, whatever becomes of the second step: they are in force by
 * it, or as soon as the first of them is shown; until then the former ones go on. No other rekeying takes its
 * place until this one is answered.
 *
 * @param seals.aside another seal that was to follow, from {@link requireFreePlace}
 * @throws Failure `unavailable` when the first step was not confirmed, `conflict` when the seal was replaced
 *   meanwhile, or another one is to follow
 */
export async function putInForce(
  app: App,
  caller: Caller,
  seals: { before: Seal; next: Seal; aside: Seal | undefined },
): Promise<{ confirmed: boolean }> {
  const { before, next, aside } = seals;
  const known = knownOf(app);
  const tag = tagOf(next);
  known.underway.add(tag);
  const ended = new AbortController();
  const late = setTimeout(PATIENCE, 'late' as const, { signal: ended.signal });
  // Whoever races it has its answer by then.
  late.catch(() => {});
  try {
    const first = app.commit(caller, [holdSeal(before), saveNextSeal(next, aside)]);
    if ((await Promise.race([first, late])) === 'late') throw unconfirmed();
    caller.recorded = false;
    const confirmed = (await Promise.race([confirm(app, caller, next), late])) === true;
    // The first step has a record, and so has what another attempt has written.
    caller.recorded = true;
    if (!confirmed) warn(app, next);
    return { confirmed };
  } finally {
    ended.abort();
    known.underway.delete(tag);
    known.answered = tag;
  }
}

const unconfirmed = (): Failure =>
  new Failure('unavailable', 'the database did not confirm the write: nothing was changed');

const warn = ({ log }: App, { generation }: Seal): void =>
  log.warn({ generation }, 'new shares are in force once one of them is shown');

/** @returns false when nobody knows */
async function confirm(app: App, caller: Caller, next: Seal): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    try {
      await app.commit(caller, replaceSeal(next));
      return true;
    } catch (error) {
      if (!isUnavailable(error)) {
        const stored = await isStored(app, next);
        if (stored === false) throw error;
        // By an attempt that was not confirmed, and its record with it.
        if (stored) return true;
      }
      await setTimeout(PAUSE_MS);
    }
  }
  return false;
}

/** Undefined when the database does not tell. */
async function isStored(app: App, seal: Seal): Promise<boolean | undefined> {
  try {
    return tagOf(await requireSeal(app)) === tagOf(seal);
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

/** What a seal is told by, whatever its engine makes of bytes; it opens nothing. */
function tagOf({ generation, root_key_sealed, recovery_hash_sealed }: Seal): string {
  const hash = createHash('sha256').update(`${generation} ${root_key_sealed.length} `);
  return hash
    .update(root_key_sealed)
    .update(recovery_hash_sealed ?? new Uint8Array())
    .digest('hex');
}
