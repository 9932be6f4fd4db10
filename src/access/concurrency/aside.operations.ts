import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { FairTurns } from '../../core/fairness/fair-turns.ts';
import { askerOf, gone, patienceOf } from './operations.ts';

// Turns on threads that do what takes long beside requests: plans of certificates, and programs.

// A unit of weight is a millisecond or two of the one thread: all that wait are through in some
// seconds, or refused, and whoever comes from a network of his own waits for one piece of each other network.
const PLAN_PLACES = { at_once: 2, at_once_each: 1, at_once_site: 1 };

const planTurnsOf = perApp(
  () =>
    new FairTurns(
      { ...PLAN_PLACES, waiting: 2048, waiting_each: 1024, longest_wait_ms: 10_000 },
      (why) => (why === 'gone' ? gone() : refusePlan()),
    ),
);

/**
 * Decides on a certificate, or looks at a key, on the thread for that when it is the caller's turn.
 *
 * @param weight how much work it is, in units of the work that an RSA key of 2048 bits makes
 * @throws Failure `rate_limited` as {@link hashWithinLimit}
 */
export function planInTurn<Result>(
  app: App,
  caller: Caller,
  weight: number,
  plan: () => Promise<Result>,
): Promise<Result> {
  return takeAside(app, caller, { turns: planTurnsOf(app), weight, refuse: refusePlan }, plan);
}

const programTurnsOf = perApp(
  () =>
    new FairTurns(
      { ...PLAN_PLACES, waiting: 256, waiting_each: 64, longest_wait_ms: 10_000 },
      (why) => (why === 'gone' ? gone() : refuseProgram()),
    ),
);

/**
 * Evaluates a program that somebody has written on the thread for that when it is the caller's turn. What takes long there holds
 * up other programs, by network in turns, and nothing else.
 *
 * @throws Failure `rate_limited` as {@link hashWithinLimit}
 */
export function evaluateInTurn<Result>(
  app: App,
  caller: Caller,
  evaluate: () => Promise<Result>,
): Promise<Result> {
  const line = { turns: programTurnsOf(app), weight: 1, refuse: refuseProgram };
  return takeAside(app, caller, line, evaluate);
}

function refuseProgram(): Failure {
  const because = 'too many programs are being evaluated, try again in a second';
  return new Failure('rate_limited', because, { retry_after: 1 });
}

/** What the caller may do is let go of while it waits. */
async function takeAside<Result>(
  app: App,
  caller: Caller,
  { turns, weight, refuse }: { turns: FairTurns; weight: number; refuse(): Failure },
  work: () => Promise<Result>,
): Promise<Result> {
  const asker = { ...askerOf(caller), weight };
  if (!turns.hasPlaceFor(asker)) {
    await patienceOf(app).wait(asker);
    throw refuse();
  }
  const take = (): Promise<Result> => turns.take(asker, work);
  return caller.aside ? caller.aside(take) : take();
}

function refusePlan(): Failure {
  const because = 'too many long requests for certificates are waiting, try again in a second';
  return new Failure('rate_limited', because, { retry_after: 1 });
}
