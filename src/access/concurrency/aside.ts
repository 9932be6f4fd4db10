import type { Caller } from '../../app/caller.ts';
import type { Failure } from '../../core/failure.ts';
import type { Asker } from '../../core/fairness/asker.ts';
import type { FairTurns } from '../../core/fairness/fair-turns.ts';
import type { Patience } from '../../core/fairness/patience.ts';

/** Where it is waited, and what those hear for whom there is no place. */
interface Line {
  turns: FairTurns;
  patience: Patience;
  refuse(): Failure;
}

/** Does what is waited for in turns; what the caller may do is let go of meanwhile. */
export async function takeAside<Result>(
  { aside }: Pick<Caller, 'aside'>,
  asker: Asker & { weight: number },
  { turns, patience, refuse }: Line,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!turns.hasPlaceFor(asker)) {
    await patience.wait(asker);
    throw refuse();
  }
  const take = (): Promise<Result> => turns.take(asker, work);
  return aside ? aside(take) : take();
}
