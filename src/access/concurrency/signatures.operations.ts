import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { Failure } from '../../core/failure.ts';
import type { Asker } from '../../core/fairness/asker.ts';
import { FairTurns } from '../../core/fairness/fair-turns.ts';
import type { Turned } from '../../core/fairness/giving-way.ts';
import { OWN_PARTY } from '../../core/fairness/party.ts';
import { isLong, signingCost } from '../../x509/signature-costs.ts';
import { isQuick, type SigningKey, signOnDevice } from './device-turns.operations.ts';
import { askerOf, gone, patienceOf } from './operations.ts';
import { turnsOfAll } from './turn-of-all.operations.ts';

const refuseTurn = (why: Turned): Failure => (why === 'gone' ? gone() : refuseSignature());

// A unit of weight is about a millisecond of a thread of the pool, which serves who comes first.
const PLACES = { waiting: 4096, waiting_each: 1024, longest_wait_ms: 5_000 };
/** At once, and one for each thread that answers, as far as the pool has some left for names, files and keys. */
const FEWEST_SIGNATURES = 2;
const MOST_SIGNATURES = 8;
const signatureTurnsOf = perApp((app) => {
  const at_once = Math.min(MOST_SIGNATURES, Math.max(FEWEST_SIGNATURES, app.config.threads));
  return new FairTurns({ ...PLACES, at_once }, refuseTurn);
});

// Other places of signatures are left to those that are quick, whoever asks for long ones.
const LONG_PLACES = { at_once: 1, waiting: 64, waiting_each: 16, longest_wait_ms: 10_000 };
const longSignatureTurnsOf = perApp(() => new FairTurns(LONG_PLACES, refuseTurn));

/**
 * Makes a signature when it is the caller's turn among those of all threads, if it takes long: with RSA it is a
 * millisecond with 2,048 bits and forty with 8,192, with SLH-DSA ten to a thousand. Other signatures are quicker than waiting.
 *
 * @throws Failure `rate_limited` when too many wait already, or it waited for too long
 */
export function signInTurn<Result>(
  app: App,
  caller: Caller,
  key: SigningKey,
  sign: () => Promise<Result>,
): Promise<Result> {
  return isQuick(key) ? sign() : signWhenDue(app, askerOf(caller), key, sign);
}

/** As {@link signInTurn}, of what many wait for, whoever asked for it first: the server's own work. */
export function signOwnInTurn<Result>(
  app: App,
  key: SigningKey,
  sign: () => Promise<Result>,
): Promise<Result> {
  return isQuick(key) ? sign() : signWhenDue(app, { party: OWN_PARTY }, key, sign);
}

/** What a turn to sign goes by. */
interface Signing {
  managed_key_id?: string | undefined;
  weight: number;
  is_long: boolean;
}

function signWhenDue<Result>(
  app: App,
  who: Asker,
  key: SigningKey,
  sign: () => Promise<Result>,
): Promise<Result> {
  const { managed_key_id } = key;
  const signing = { managed_key_id, weight: signingCost(key), is_long: isLong(key) };
  return takeSigningTurn(app, who, signing, sign);
}

const takeSigningTurn = turnsOfAll<Signing>('signatures', async (app, who, signing, sign) => {
  const { managed_key_id: id, weight, is_long } = signing;
  if (id !== undefined) return signOnDevice(app, who, id, { sign, refuse: refuseTurn });
  const turns = signatureTurnsOf(app);
  const asker = { ...who, weight };
  const long = is_long ? longSignatureTurnsOf(app) : undefined;
  if (!(long ? long.hasPlaceFor(who) : turns.hasPlaceFor(asker))) {
    await patienceOf(app).wait(asker);
    throw refuseSignature();
  }
  const take = () => turns.take(asker, sign);
  return long ? long.take(who, take) : take();
});

function refuseSignature(): Failure {
  const because = 'too many signatures are being made, try again in a second';
  return new Failure('rate_limited', because, { retry_after: 1 });
}
