import { type App, perApp } from '../../app/app.ts';
import type { Caller } from '../../app/caller.ts';
import { oneForAll } from '../../app/one-for-all.ts';
import { Failure } from '../../core/failure.ts';
import type { Asker } from '../../core/fairness/asker.ts';
import { FairTurns } from '../../core/fairness/fair-turns.ts';
import type { Turned } from '../../core/fairness/giving-way.ts';
import { OWN_PARTY } from '../../core/fairness/party.ts';
import { isLong, signingCost } from '../../x509/signature-costs.ts';
import { isQuick, type SigningKey, signOnDevice } from './device-turns.operations.ts';
import { askerOf, gone, patienceOf } from './operations.ts';
import { type TakeTurn, turnsOfAll } from './turn-of-all.operations.ts';

const refuseTurn = (why: Turned): Failure => (why === 'gone' ? gone() : refuseSignature());

// A unit of weight is about a millisecond of a thread of the pool, which serves who comes first.
const PLACES = { waiting: 4096, waiting_each: 1024, longest_wait_ms: 5_000 };
const AT_ONCE = 2;
/** On each of several threads: all together make as many as there are threads. */
const AT_ONCE_OF_EACH = 1;
/** What takes no longer, as RSA with 4,096 bits, has its turn where it is asked for: a turn among all takes the one that gives it 0.1 ms. */
const LONGEST_OF_EACH = 8;
const signatureTurnsOf = perApp((app) => {
  const at_once = oneForAll(app).ask ? AT_ONCE_OF_EACH : AT_ONCE;
  return new FairTurns({ ...PLACES, at_once }, refuseTurn);
});

// One of the two places of signatures is left to those that are quick, whoever asks for long ones.
const LONG_PLACES = { at_once: 1, waiting: 64, waiting_each: 16, longest_wait_ms: 10_000 };
const longSignatureTurnsOf = perApp(() => new FairTurns(LONG_PLACES, refuseTurn));

/**
 * Makes a signature when it is the caller's turn, if it takes long: with RSA it is a millisecond with 2,048 bits and
 * forty with 8,192, with SLH-DSA ten to a thousand. Other signatures are quicker than waiting.
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
  const isOfEach = managed_key_id === undefined && signing.weight <= LONGEST_OF_EACH;
  return (isOfEach ? takeOwnTurn : takeTurnOfAll)(app, who, signing, sign);
}

const takeOwnTurn: TakeTurn<Signing> = async (app, who, signing, sign) => {
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
};

const takeTurnOfAll = turnsOfAll<Signing>('signatures', takeOwnTurn);

function refuseSignature(): Failure {
  const because = 'too many signatures are being made, try again in a second';
  return new Failure('rate_limited', because, { retry_after: 1 });
}
