import { type App, perApp } from '../../app.ts';
import { Failure } from '../../core/failure.ts';
import type { Answer } from '../../http/route.ts';
import type { Turn } from '../../jobs.ts';
import { readMounts } from '../../mounts/operations.ts';
import type { Effect } from '../../store/write.ts';
import type { Caller } from '../caller.ts';
import { countFailures } from './lockout.ts';
import {
  addFailure,
  deleteFailures,
  deleteFailuresBefore,
  findFailures,
  hasFailuresBefore,
} from './store.ts';
import { refuseForNow, Turns } from './turns.ts';

/** Who somebody says they are: a name on an auth mount, whether it exists or not. */
export interface LogInName {
  mount_id: string;
  name: string;
}

/** Checks under way for one name, on this node. */
interface Flight {
  /** Attempts that look at it; forgotten with the last of them. */
  present: number;
  running: number;
  /** Checks that have ended, their failures written. */
  ended: number;
  /** Called, and forgotten, when one of them has ended. */
  waiting: (() => void)[];
}

const flightsOf = perApp(() => new Map<string, Flight>());

/** Passwords hashed at once: each takes a thread and tens of MiB for as long. */
const HASHED_AT_ONCE = 2;
/** Those that may wait, some seconds at the most. */
const MAX_WAITING = 64;
const turnsOf = perApp(() => new Turns(HASHED_AT_ONCE, MAX_WAITING));

/**
 * Hashes a password, or checks one, when it is its turn: floods of log-ins leave threads and
 * memory to the others.
 *
 * @throws Failure `rate_limited` when too many wait already, whomever it is about
 */
export function hashInTurn<Result>(app: App, hash: () => Promise<Result>): Promise<Result> {
  return turnsOf(app).take(hash);
}

function rowId(app: App, { mount_id, name }: LogInName): string {
  return app.barrier.hmac('token', `login:${mount_id}:${name}`).toString('base64url');
}

/**
 * Checks what somebody logs in with, unless too many have failed under that name of late. Names
 * that do not exist are counted and locked in the same way, so that neither tells.
 *
 * @param check answers undefined when it is wrong; waits for its turn, as {@link hashInTurn}
 * @returns undefined when it is wrong or the name is locked; else what was found, and the effects
 *   to be committed with the log-in
 * @throws Failure `rate_limited` when too many are being checked
 */
export async function attemptLogIn<Found>(
  app: App,
  name: LogInName,
  check: () => Promise<Found | undefined>,
): Promise<{ found: Found; effects: Effect[] } | undefined> {
  const rules = app.config.user_lockout;
  if (rules.disable_lockout) {
    const found = await hashInTurn(app, check);
    return found === undefined ? undefined : { found, effects: [] };
  }
  const id = rowId(app, name);
  const nowSeconds = (): number => Math.floor(app.now() / 1000);
  const flights = flightsOf(app);
  const flight = flights.get(id) ?? { present: 0, running: 0, ended: 0, waiting: [] };
  flight.present += 1;
  flights.set(id, flight);
  try {
    let failures: number;
    for (;;) {
      const { ended } = flight;
      failures = countFailures(await findFailures(app.db, id), rules, nowSeconds());
      if (failures >= rules.lockout_threshold) return undefined;
      // What ended meanwhile may not be among what was read.
      if (flight.ended !== ended) continue;
      // Of many guesses sent at once no more are checked than could still fail.
      if (failures + flight.running < rules.lockout_threshold) break;
      if (flight.waiting.length >= MAX_WAITING) throw refuseForNow();
      await waitFor(flight);
    }
    flight.running += 1;
    try {
      const found = await hashInTurn(app, check);
      if (found !== undefined) return { found, effects: failures > 0 ? [deleteFailures(id)] : [] };
      const now = nowSeconds();
      const since = now - rules.lockout_counter_reset;
      await app.store.commit([addFailure({ id, now, since, threshold: rules.lockout_threshold })]);
      return undefined;
    } finally {
      flight.running -= 1;
      flight.ended += 1;
      for (const go of flight.waiting.splice(0)) go();
    }
  } finally {
    flight.present -= 1;
    if (flight.present === 0) flights.delete(id);
  }
}

function waitFor(flight: Flight): Promise<void> {
  return new Promise((resolve) => flight.waiting.push(resolve));
}

/** Forgets the failures of a name before their time is over. */
export async function unlockUser(
  app: App,
  caller: Caller,
  input: { mount_accessor: string; alias_identifier: string },
): Promise<Answer> {
  const mounts = [...(await readMounts(app)).values()];
  const mount = mounts.find((one) => one.kind === 'auth' && one.accessor === input.mount_accessor);
  if (!mount) throw new Failure('invalid', `no auth mount has accessor "${input.mount_accessor}"`);
  const name = input.alias_identifier.toLowerCase();
  await app.commit(caller, [deleteFailures(rowId(app, { mount_id: mount.id, name }))]);
  return {};
}

/** Deletes failures that count no more. */
export async function tidyFailures(app: App, turn: Turn): Promise<void> {
  const { lockout_duration, lockout_counter_reset } = app.config.user_lockout;
  const before = Math.floor(app.now() / 1000) - Math.max(lockout_duration, lockout_counter_reset);
  if (!(await hasFailuresBefore(app.db, before))) return;
  await turn.commit([deleteFailuresBefore(before)]);
}
