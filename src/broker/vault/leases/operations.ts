import { shareWork } from '../../../access/leases/sharing.operations.ts';
import { listRange } from '../../../access/leases/store.ts';
import { type App, type LeaseKind, perApp } from '../../../app/app.ts';
import type { JobRun } from '../../../app/job.ts';
import { type Asked, type Lease, rangeOf } from '../../../app/lease.ts';
import { Failure } from '../../../core/failure.ts';
import { Breath } from '../../../core/fairness/breath.ts';
import type { Outcome } from '../../../core/fairness/piece.ts';
import { GrowingWaits } from '../../../core/growing-waits.ts';
import { refuseBusy, type VaultConnection, VaultFault } from '../client/answer.ts';
import { openConnection, tryOpening } from '../tokens/operations.ts';
import { findTokenOf } from '../tokens/store.ts';
import { longestWait, planRenewal, spanOf } from '../tokens/token.ts';
import { askAwake, NotAsked, outcomeOf, whoseTokens } from './asking.operations.ts';
import {
  lastEndOf,
  SESSION_LEASES,
  saysNoSuchLease,
  VAULT_LEASE,
  vaultLeaseData,
} from './lease.ts';
import { saveVaultLease } from './store.ts';
import { type Keeping, keepTokens } from './tokens.operations.ts';

/** Ends a lease on its Vault server; one that it no longer knows is as good as ended. */
export async function revokeAtVault(
  app: App,
  connection: VaultConnection,
  lease_id: string,
  asked: Asked = {},
): Promise<void> {
  const body = JSON.stringify({ lease_id });
  try {
    await askAwake(
      app,
      connection,
      { method: 'PUT', path: 'sys/leases/revoke', body },
      { ...asked, lease_id },
    );
  } catch (error) {
    if (!(error instanceof VaultFault) || !saysNoSuchLease(error)) throw error;
  }
}

/**
 * Leases of what Vault servers gave to sessions. An end that fails is tried again, until the server has ended the lease by
 * itself; it is asked once in any case, since when that is may be known wrong here.
 */
export const vaultLease: LeaseKind = {
  async planEnd(app, lease, asked) {
    const { lease_id, namespace, ...by } = vaultLeaseData(lease);
    const token = await findTokenOf(app.db, by);
    // With its token gone, so is all that was asked with it.
    if (!token) return { effects: [] };
    const isOver = lastEndOf(lease) <= app.now() / 1000;
    const leave = (err?: VaultFault): void =>
      app.log.warn({ err, lease: lease.id }, 'a lease was left to its own end');
    const opened = tryOpening(app, token);
    if (opened) {
      const connection = connectionIn(namespace, opened);
      await revokeAtVault(app, connection, lease_id, asked).catch((error: unknown) => {
        if (!(error instanceof VaultFault)) throw error;
        if (!isOver || outcomeOf(error) === 'not asked') throw refuseForNow(lease.id, error);
        leave(error);
      });
    } else if (isOver) leave();
    else throw refuse(lease.id, 'the connection of its store does not open');
    return { effects: [] };
  },

  tellWhose(app) {
    const find = whoseTokens(app);
    return async (lease) => find(vaultLeaseData(lease));
  },
};

/** Where a lease lies, by whichever row of its token it is asked for. */
const connectionIn = (
  namespace: string | undefined,
  connection: VaultConnection,
): VaultConnection => (namespace === undefined ? connection : { ...connection, namespace });

/** Seconds. */
const RETRY_AFTER = 10;

function refuseForNow(lease_id: string, fault: VaultFault): Failure {
  if (fault.kind === 'busy') return refuseBusy(fault);
  const more = fault instanceof NotAsked ? { retry_after: RETRY_AFTER } : {};
  return refuse(lease_id, fault.message, { cause: fault, ...more });
}

const refuse = (lease_id: string, because: string, detail: Failure['detail'] = {}): Failure =>
  new Failure('unavailable', `lease ${lease_id} could not be revoked: ${because}`, detail);

const PAGE = 200;

/**
 * Renews what is due and lets go of tokens that nothing hangs on any more. Each project has places of its own for
 * each server that it asks: none waits for another's.
 */
export async function keepVaultAlive(app: App, turn: JobRun): Promise<void> {
  const find = whoseTokens(app);
  await shareWork(app, turn, 'renewals', async (work) => {
    const since = Math.floor(app.now() / 1000);
    const used = await renewLeases(app, turn, { work, find });
    if (used) await keepTokens(app, turn, { work, find, used, since });
  });
}

/** Leases whose servers were asked to renew them in vain: they are asked ever less. */
const refusedOnes = perApp(() => new GrowingWaits());

/** @returns the tokens that living leases hang on; undefined when it was cut short */
async function renewLeases(
  app: App,
  turn: JobRun,
  { work, find }: Keeping,
): Promise<ReadonlySet<string> | undefined> {
  const used = new Set<string>();
  const range = rangeOf(SESSION_LEASES);
  const breath = new Breath();
  for (let after = ''; !work.isOver; ) {
    const page = await listRange(app.db, range, { after, limit: PAGE });
    for (const lease of page) {
      await breath.take();
      if (lease.kind !== VAULT_LEASE) continue;
      const { token_id, token_mac, until } = vaultLeaseData(lease);
      used.add(token_id);
      const whose = isDue(app, lease) ? await find({ token_id, token_mac }) : undefined;
      if (!whose) continue;
      const renew = (hurry: boolean): Promise<Outcome> =>
        renewLease(app, turn, lease, { whose, hurry });
      work.offer({ id: lease.id, whose, until, work: renew });
    }
    after = page.at(-1)?.id ?? '';
    if (page.length === 0) return used;
  }
  return undefined;
}

/** What was to end by itself may be there still: that it was renewed may not have been heard here, or been lost. */
function isDue(app: App, lease: Lease): boolean {
  const now = Math.floor(app.now() / 1000);
  const { renewable, renew_at } = vaultLeaseData(lease);
  if (!renewable || renew_at > now || lease.expires_at <= now) return false;
  return refusedOnes(app).isOver(lease.id, app.now());
}

async function renewLease(app: App, turn: JobRun, lease: Lease, asked: Asked): Promise<Outcome> {
  const data = vaultLeaseData(lease);
  const token = await findTokenOf(app.db, data);
  // It may have waited for its place.
  if (!token || !isDue(app, lease)) return 'done';
  const now = Math.floor(app.now() / 1000);
  const body = JSON.stringify({ lease_id: data.lease_id });
  try {
    const renewed = await askAwake(
      app,
      connectionIn(data.namespace, openConnection(app, token)),
      { method: 'PUT', path: 'sys/leases/renew', body },
      { ...asked, lease_id: data.lease_id },
    );
    refusedOnes(app).forget(lease.id);
    const { renew_at, expires_at: until } = planRenewal(
      now,
      renewed.lease_duration || spanOf({ ...data, expires_at: data.until }),
    );
    const next = { ...data, renewable: renewed.renewable, renew_at, until };
    await turn.commit([saveVaultLease(lease, next, Math.floor(app.now() / 1000))], {
      lease_id: lease.id,
    });
    return 'done';
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    app.log.warn({ err, lease: lease.id }, 'a lease could not be renewed');
    const outcome = outcomeOf(err);
    const longest = data.until > now ? longestWait((data.until - now) * 1000) : undefined;
    if (outcome === 'in vain') refusedOnes(app).note(lease.id, app.now(), longest);
    return outcome;
  }
}
