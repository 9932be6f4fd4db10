import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { FairTurns } from '../../core/fairness/fair-turns.ts';
import { askerOf, gone } from './operations.ts';

// A bundle is read in small pieces of the one thread, a large one for a second in all; until then its text is held.
const importTurnsOf = perApp(
  () =>
    new FairTurns(
      { at_once: 2, at_once_each: 1, at_once_site: 1, waiting: 16, waiting_each: 8 },
      (why) => {
        if (why === 'gone') return gone();
        const because = 'too many bundles are being imported, try again in some seconds';
        return new Failure('rate_limited', because, { retry_after: 5 });
      },
    ),
);

/**
 * Reads a long bundle of certificates and keys when it is the caller's turn.
 *
 * @throws Failure `rate_limited` when too many wait, of that address or altogether
 */
export function importInTurn<Result>(
  app: App,
  caller: Caller,
  read: () => Promise<Result>,
): Promise<Result> {
  return importTurnsOf(app).take(askerOf(caller), read);
}
