import { type App, perApp } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import type { JobRun } from '../../../app/job.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import { networkOf } from '../../../core/fairness/party.ts';
import { GrowingWaits } from '../../../core/growing-waits.ts';
import { compareIds } from '../../../store/in-blocks.ts';
import type { Effect } from '../../../store/write.ts';
import { checkInTurn, countTriesLeft, gone, refuseForNow } from '../../concurrency/operations.ts';
import { countFailures } from './lockout.ts';
import {
  addFailure,
  clearFailures,
  deleteFailuresBefore,
  type FailuresRow,
  findFailures,
  hasFailuresBefore,
  listFailures,
  unlockName,
} from './store.ts';

/** Who somebody says they are: a name in an auth mount or auth method, whether it exists or not. */
interface LogInName {
  method_id: string;
  name: string;
}

/** Checks under way for one name, on this node: of unproven callers, or from one network that has logged in. */
interface PendingChecks {
  /** Attempts that look at it; forgotten with the last of them. */
  present: number;
  running: number;
  /** Checks that have ended, their failures written. */
  ended: number;
  /** Called, and forgotten, when one of them has ended. */
  waiting: (() => void)[];
}

const pendingOf = perApp(() => new Map<string, PendingChecks>());

/** Attempts that may wait for the checks of one name; those checks have places of their own. */
const MAX_WAITING = 64;

/** Waits until one of the checks has ended; whoever has gone does not. */
function nextEnd({ waiting }: PendingChecks, { onGone }: Caller): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = (): void => {
      forget?.();
      resolve();
    };
    const forget = onGone?.(() => {
      const place = waiting.indexOf(go);
      if (place >= 0) waiting.splice(place, 1);
      reject(gone());
    });
    waiting.push(go);
  });
}

function rowId(app: App, { method_id, name }: LogInName): string {
  return app.barrier.hmac('token', `login:${method_id}:${name}`).toString('base64url');
}

/**
 * Checks what somebody logs in with, unless too many have failed under that name of late. Names
 * that do not exist are counted and locked in the same way, so that neither tells. Where the name has logged in
 * from before, a lock that others brought about does not hold: what fails there has a count of its own.
 *
 * @param check answers undefined when it is wrong; waits for its turn, as `checkInTurn`
 * @returns undefined when it is wrong or the name is locked; else what was found, and the effects
 *   to be committed with the log-in
 * @throws Failure `rate_limited` when too many are being checked
 */
export async function attemptLogIn<Found>(
  app: App,
  caller: Caller,
  name: LogInName,
  check: () => Promise<Found | undefined>,
): Promise<{ found: Found; effects: Effect[] } | undefined> {
  const rules = app.config.user_lockout;
  const id = rowId(app, name);
  if (rules.disable_lockout) {
    const found = await checkInTurn(app, caller, id, check);
    return found === undefined ? undefined : { found, effects: [] };
  }
  const nowSeconds = (): number => Math.floor(app.now() / 1000);
  const isLocked = (failures: number): boolean => failures >= rules.lockout_threshold;
  const allPending = pendingOf(app);
  // Callers without proof of this name must not take the places of somebody who has proved to have it.
  const isProved = countTriesLeft(app, caller, id, rules.lockout_threshold) > 0;
  const place = isProved ? `${id} ${networkOf(caller.record.remote_address)}` : id;
  const none = { present: 0, running: 0, ended: 0, waiting: [] };
  const pending = allPending.getOrInsert(place, none);
  pending.present += 1;
  try {
    let failures: number;
    let unlocked: number;
    for (;;) {
      const { ended } = pending;
      const found = await findFailures(app.db, id);
      failures = countFailures(found, rules, nowSeconds());
      unlocked = found?.unlocked ?? 0;
      const left = isLocked(failures)
        ? countTriesLeft(app, caller, id, rules.lockout_threshold)
        : rules.lockout_threshold - failures;
      if (left === 0) return undefined;
      // What ended meanwhile may not be among what was read.
      if (pending.ended !== ended) continue;
      // Of many guesses at once, no more are checked than failures are left before the lock.
      if (pending.running < left) break;
      if (pending.waiting.length >= MAX_WAITING) throw refuseForNow();
      await nextEnd(pending, caller);
    }
    pending.running += 1;
    try {
      const found = await checkInTurn(app, caller, id, check);
      // The lock holds for all others, whatever comes of this attempt.
      if (isLocked(failures)) return found === undefined ? undefined : { found, effects: [] };
      if (found !== undefined) return { found, effects: failures > 0 ? [clearFailures(id)] : [] };
      const now = nowSeconds();
      const since = now - rules.lockout_counter_reset;
      const locked_since = now - rules.lockout_duration;
      const { lockout_threshold: threshold } = rules;
      const name_sealed = sealName(app, id, name.name);
      const { method_id } = name;
      const failed = { id, method_id, name_sealed, now, since, locked_since, threshold, unlocked };
      await app.store.commit([addFailure(failed)]);
      return undefined;
    } finally {
      pending.running -= 1;
      pending.ended += 1;
      for (const go of pending.waiting.splice(0)) go();
    }
  } finally {
    pending.present -= 1;
    if (pending.present === 0) allPending.delete(place);
  }
}

/** Longer names are no user's; nobody's storage is filled with what anybody makes up. */
const MAX_KEPT_NAME = 512;

// Sealed: in place of their name people type their password now and then.
function sealName(app: App, id: string, name: string): Uint8Array {
  if (name.length > MAX_KEPT_NAME) return new Uint8Array(0);
  return app.barrier.encrypt('token', nameAt(id), Buffer.from(name));
}

const nameAt = (row: string) => ({ table: 'login_failure', column: 'name_sealed', row }) as const;

/** Names that are looked at at once, locked or not. */
const PAGE = 250;
/** Anybody may lock as many names as they can think of: of more, a list helps nobody. */
const MOST_LISTED = 5_000;

/** The log says ever less often that names do not open. */
const unopened = perApp(() => new GrowingWaits({ shortest: 60_000 }));

/**
 * Names that are locked now, in auth mounts and auth methods, those too that nobody has; by method, and
 * at most {@link MOST_LISTED}. One that does not open is there without its name.
 *
 * @param method_id absent: of all
 */
export async function readLockedNames(app: App, method_id?: string): Promise<LogInName[]> {
  const {
    lockout_threshold: threshold,
    lockout_duration,
    disable_lockout,
  } = app.config.user_lockout;
  if (disable_lockout) return [];
  const since = Math.floor(app.now() / 1000) - lockout_duration;
  const names: LogInName[] = [];
  const failures: unknown[] = [];
  const breath = new Breath();
  for (let after = ''; names.length < MOST_LISTED; ) {
    const rows = await listFailures(app.db, { after, limit: PAGE });
    for (const row of rows) {
      const isLocked = row.failures >= threshold && row.last_failed_at > since;
      if (!isLocked || row.method_id !== (method_id ?? row.method_id)) continue;
      names.push({ method_id: row.method_id, name: openName(app, row, failures) });
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE) break;
    after = last.id;
    await breath.take();
  }
  noteUnopened(app, failures);
  const some = names.slice(0, MOST_LISTED);
  return some.sort((a, b) => compareIds(a.method_id, b.method_id));
}

function openName(app: App, { id, name_sealed }: FailuresRow, failures: unknown[]): string {
  if (name_sealed.length === 0) return '';
  try {
    return Buffer.from(app.barrier.decrypt('token', nameAt(id), name_sealed)).toString('utf8');
  } catch (error) {
    if (app.barrier.sealed) throw error;
    failures.push(error);
    return '';
  }
}

function noteUnopened(app: App, failures: readonly unknown[]): void {
  const [err] = failures;
  if (failures.length === 0 || !unopened(app).isOver('', app.now())) return;
  unopened(app).note('', app.now());
  app.log.error({ err, names: failures.length }, 'names that are locked do not open');
}

/** Lets a name be tried again before its time is over, whatever is being checked meanwhile. */
export function planUnlock(app: App, name: LogInName): Effect {
  return unlockName(rowId(app, name), Math.floor(app.now() / 1000));
}

/** Deletes failures that count no more. */
export async function tidyFailures(app: App, turn: JobRun): Promise<void> {
  const { lockout_duration, lockout_counter_reset } = app.config.user_lockout;
  const before = Math.floor(app.now() / 1000) - Math.max(lockout_duration, lockout_counter_reset);
  while (!turn.stopping && (await hasFailuresBefore(app.db, before))) {
    await turn.commit([deleteFailuresBefore(before)]);
  }
}
