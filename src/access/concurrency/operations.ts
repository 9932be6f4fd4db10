import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import type { Asker } from '../../core/fairness/asker.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { FairTurns, type Places } from '../../core/fairness/fair-turns.ts';
import { LoopTurns } from '../../core/fairness/loop-turns.ts';
import { networkOf, partyOf, SHARED_PARTY, siteOf } from '../../core/fairness/party.ts';
import { Patience } from '../../core/fairness/patience.ts';
import { takeAside } from './aside.ts';
import {
  DOUBTED,
  type LogInAttempt,
  LogInHistory,
  PROVED,
  type Rank,
  UNPROVED,
} from './history.ts';
import { turnsOfAll } from './turn-of-all.operations.ts';

/** Of a caller, where the request came from. */
type CallerFrom = Pick<Caller, 'record' | 'onGone'>;

/** As whom a caller waits for costly work: the address that the request came from. */
export function askerOf({ record, onGone }: CallerFrom): Asker {
  const { remote_address } = record;
  return { party: partyOf(remote_address), site: siteOf(remote_address), onGone };
}

// A hash takes a thread and tens of MiB for 20 to 100 ms, and longer where cores are busy. Half of the turns
// are for those who have proved to be right, most others for those of whom nothing is known, whoever else waits.
const PASSWORD_PLACES: Places = {
  at_once: 2,
  waiting: 256,
  waiting_each: 64,
  longest_wait_ms: 5_000,
  preference: [PROVED, UNPROVED, PROVED, UNPROVED, PROVED, UNPROVED, PROVED, DOUBTED],
};

const passwordTurnsOf = perApp(
  () => new FairTurns(PASSWORD_PLACES, (why) => (why === 'gone' ? gone() : refuseForNow())),
);

const historyOf = perApp(() => new LogInHistory());

/**
 * Hashes a password, or derives a key from one, when it is the caller's turn: floods of log-ins leave
 * threads and memory to others, and their turn to those from elsewhere.
 *
 * @throws Failure `rate_limited` when too many wait already, of that address or altogether, or
 *   when it waited for too long
 */
export function hashWithinLimit<Result>(
  app: App,
  caller: CallerFrom & Pick<Caller, 'token'>,
  hash: () => Promise<Result>,
  // Whoever has a token has proved who they are.
  isProved = caller.token !== undefined,
): Promise<Result> {
  return takePasswordTurn(app, caller, isProved ? PROVED : UNPROVED, hash);
}

/**
 * Checks a password as {@link hashWithinLimit}, and remembers from where it was right or wrong: who
 * logged in from there before comes first, and those who were wrong come last.
 *
 * @param name any text that stands for the name in its method
 * @param check answers undefined when it is wrong
 */
export async function checkInTurn<Found>(
  app: App,
  caller: Caller,
  name: string,
  check: () => Promise<Found | undefined>,
): Promise<Found | undefined> {
  const attempt = attemptOf(caller, name);
  const history = historyOf(app);
  // A token is no proof here: anybody's may be sent with a log-in.
  return takePasswordTurn(app, caller, history.rank(attempt, app.now()), async () => {
    const found = await check();
    // Before the next turn is chosen.
    if (found === undefined) history.noteWrong(attempt, app.now());
    else history.noteRight(attempt, app.now());
    return found;
  });
}

/**
 * How often a name that is locked may be tried by this caller all the same: from where it has logged in,
 * as far as this node remembers, since other callers may have locked it.
 *
 * @param most so many failures in a row lock a name
 */
export function countTriesLeft(app: App, caller: Caller, name: string, most: number): number {
  return historyOf(app).countLeft(attemptOf(caller, name), most, app.now());
}

function attemptOf({ record }: Caller, name: string): LogInAttempt {
  const { remote_address } = record;
  return { name, party: partyOf(remote_address), network: networkOf(remote_address) };
}

async function takePasswordTurn<Result>(
  app: App,
  caller: CallerFrom,
  rank: Rank,
  work: () => Promise<Result>,
): Promise<Result> {
  const turns = passwordTurnsOf(app);
  const asker = { ...askerOf(caller), rank };
  if (!turns.hasPlaceFor(asker)) {
    // Told at once, whoever asks again at once would keep the event loop from everybody else.
    await patienceOf(app).wait(asker);
    throw refuseForNow();
  }
  return turns.take(asker, work);
}

/** What those who are refused wait for. */
export const patienceOf = perApp((app) => {
  const patience = new Patience(REFUSED_AFTER_MS, MAX_REFUSED_LATER);
  app.onClose(() => patience.end());
  return patience;
});

/** Half of what those who are refused hear as the time to come again. */
const REFUSED_AFTER_MS = 500;
/** Refusals that are held back at once; what is more hears them at once. */
const MAX_REFUSED_LATER = 2_000;

// A key takes a thread for tens of milliseconds up to tens of seconds. Of the eight threads that names are not
// looked up in one is left to everything else, and one of these three to whoever wants a key in another network.
const KEY_PLACES = { at_once: 3, at_once_each: 2, at_once_site: 2 };

const keyTurnsOf = perApp(
  () =>
    new FairTurns({ ...KEY_PLACES, waiting: 512, waiting_each: 128 }, (why) =>
      why === 'gone'
        ? gone()
        : new Failure('rate_limited', 'too many keys are being made, try again in some seconds', {
            retry_after: 5,
          }),
    ),
);

const takeKeyTurn = turnsOfAll<undefined>('keys', (app, asker, _, make) =>
  keyTurnsOf(app).take(asker, make),
);

/**
 * Makes a key that takes as long as one of RSA does when it is the asker's turn, among those of all threads.
 *
 * @throws Failure `rate_limited` as {@link hashWithinLimit}
 */
export function makeKeyInTurn<Result>(
  app: App,
  asker: Asker,
  make: () => Promise<Result>,
): Promise<Result> {
  return takeKeyTurn(app, asker, undefined, make);
}

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
  const line = { turns: planTurnsOf(app), patience: patienceOf(app), refuse: refusePlan };
  return takeAside(caller, { ...askerOf(caller), weight }, line, plan);
}

function refusePlan(): Failure {
  const because = 'too many long requests for certificates are waiting, try again in a second';
  return new Failure('rate_limited', because, { retry_after: 1 });
}

// It takes the one thread up to half a second in all, in small pieces: two at a time would take twice as long. Log-ins
// have places of their own, which nobody holds so long.
const openingTurnsOf = perApp(
  () =>
    new FairTurns({ at_once: 1, waiting: 64, waiting_each: 16, longest_wait_ms: 10_000 }, (why) => {
      if (why === 'gone') return gone();
      const because = 'too many private keys are being opened, try again in a second';
      return new Failure('rate_limited', because, { retry_after: 1 });
    }),
);

/**
 * Opens a key that is locked by a passphrase when it is the caller's turn, as work that is shared: others wait for it.
 *
 * @throws Failure `rate_limited` as {@link hashWithinLimit}
 */
export function openInTurn<Result>(
  app: App,
  caller: CallerFrom,
  open: () => Promise<Result>,
): Promise<Result> {
  return openingTurnsOf(app).take(askerOf(caller), () => doFor(SHARED_PARTY, open));
}

const piecesOf = perApp(() => new LoopTurns());

/**
 * Waits between two pieces of long work until others have had their turn: at once, unless this turn of the
 * event loop has lasted some milliseconds; in a later one it goes round those who wait, by address.
 */
export async function giveWay(app: App): Promise<void> {
  const pieces = piecesOf(app);
  if (pieces.isOver) await pieces.next();
}

/** Nobody reads it; the record has it. */
export const gone = (): Failure => new Failure('unavailable', 'the client has gone');

/** Says that there are too many log-ins just now, whoever asks and whatever about. */
export function refuseForNow(): Failure {
  const because = 'too many passwords are being checked, try again in a second';
  return new Failure('rate_limited', because, { retry_after: 1 });
}
