import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import { FairTurns } from '../../core/fairness/fair-turns.ts';
import { takeAside } from './aside.ts';
import { askerOf, gone, patienceOf } from './operations.ts';

// One that takes long is ended after some seconds: whoever waits does so for one of each other network.
const PLACES = {
  at_once: 2,
  at_once_each: 1,
  at_once_site: 1,
  waiting: 256,
  waiting_each: 64,
  longest_wait_ms: 10_000,
};

const turnsOf = perApp(
  () => new FairTurns(PLACES, (why) => (why === 'gone' ? gone() : refuseProgram())),
);

/**
 * Evaluates a program that somebody has written on a thread for that when it is the caller's turn. What takes long
 * there holds up other programs, by network in turns, and nothing else.
 *
 * @throws Failure `rate_limited` when too many wait, of that address or altogether, or when it waited for too long
 */
export function evaluateInTurn<Result>(
  app: App,
  caller: Caller,
  evaluate: () => Promise<Result>,
): Promise<Result> {
  const line = { turns: turnsOf(app), patience: patienceOf(app), refuse: refuseProgram };
  return takeAside(caller, { ...askerOf(caller), weight: 1 }, line, evaluate);
}

function refuseProgram(): Failure {
  const because = 'too many programs are being evaluated, try again in a second';
  return new Failure('rate_limited', because, { retry_after: 1 });
}
