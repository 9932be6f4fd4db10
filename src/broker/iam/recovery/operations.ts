import { systemCaller } from '../../../access/system-caller.ts';
import { type App, perApp } from '../../../app/app.ts';
import { RefusalTally } from '../../../audit/refusal-tally.ts';
import { isConflict } from '../../../core/failure.ts';
import { deleteNoncesBefore, insertNonce } from './store.ts';
import { judgeRecoveryToken, VALID_MS } from './token.ts';

/**
 * Takes a recovery token: once, and only while it is fresh. Each use is on record, the refused
 * ones in the log.
 *
 * @returns whether whoever shows it may do what repairs
 */
export async function acceptRecoveryToken(
  app: App,
  text: string,
  remote_address: string,
): Promise<boolean> {
  const { recovery_key } = app.config;
  if (!recovery_key || app.barrier.sealed) return false;
  const now = app.now();
  const verdict = judgeRecoveryToken(text, recovery_key, now);
  if ('refused' in verdict) {
    tellRefused(app, verdict.refused, remote_address);
    return false;
  }
  const caller = systemCaller(app.newId(), 'use-recovery-token');
  caller.record.remote_address = remote_address;
  try {
    await app.commit(caller, [
      insertNonce(verdict.token.nonce, now),
      // Twice as long as one could be shown again, for clocks that differ.
      deleteNoncesBefore(now - 4 * VALID_MS),
    ]);
    return true;
  } catch (error) {
    if (!isConflict(error)) throw error;
    tellRefused(app, error.message, remote_address);
    return false;
  }
}

/** Unauthenticated callers fill no log: what is told one by one has the bounds that records of refusals have. */
const refusalsOf = perApp(() => new RefusalTally());

function tellRefused(app: App, why: string, remote_address: string): void {
  const refusals = refusalsOf(app);
  if (!refusals.take(app.now(), { remote_address, kind: 'other', route: '' })) return;
  const untold = refusals.drain().reduce((sum, { requests }) => sum + requests, 0);
  const more = untold > 0 ? { refused_before: untold } : {};
  app.log.warn({ why, remote_address, ...more }, 'a recovery token was refused');
}
