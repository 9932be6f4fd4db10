import type { Asked, Lease, LeaseKind } from '../../access/leases/lease.ts';
import { rangeOf } from '../../access/leases/lease.ts';
import { shareWork } from '../../access/leases/sharing/operations.ts';
import { listRange } from '../../access/leases/store.ts';
import type { App } from '../../app.ts';
import { Breath } from '../../core/breath.ts';
import { Failure } from '../../core/failure.ts';
import type { Outcome, SharedWork } from '../../core/shared-work.ts';
import type { Turn } from '../../jobs.ts';
import { refuseBusy, type VaultConnection, VaultFault } from '../vault-client/answer.ts';
import { hashTokens, isLeftToAnother, openConnection } from '../vault-tokens/operations.ts';
import {
  deleteVaultToken,
  findSameToken,
  findVaultToken,
  listTokenMacs,
  listVaultTokens,
  replaceToken,
  saveTokenState,
} from '../vault-tokens/store.ts';
import {
  planCare,
  planRenewal,
  saysDenied,
  saysNoSuchToken,
  type VaultToken,
} from '../vault-tokens/token.ts';
import { askAwake, NotAsked, whoseTokens } from './asking/operations.ts';
import { SESSION_LEASES, saysNoSuchLease, VAULT_LEASE, vaultLeaseData } from './lease.ts';
import { saveVaultLease } from './store.ts';

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
 * Leases of what Vault servers gave to sessions. An end that fails is tried again, until the
 * server has ended the lease by itself.
 */
export const vaultLease: LeaseKind = {
  async planEnd(app, lease, asked) {
    const { token_id, token_mac, lease_id, until } = vaultLeaseData(lease);
    const token =
      (await findVaultToken(app.db, token_id)) ?? (await findSameToken(app.db, token_mac));
    // With its token gone, so is all that was asked with it.
    if (token && until > app.now() / 1000) {
      const connection = openConnection(app, token);
      await revokeAtVault(app, connection, lease_id, asked).catch((error: unknown) => {
        throw error instanceof VaultFault ? refuseForNow(lease.id, error) : error;
      });
    }
    return { effects: [] };
  },

  tellWhose(app) {
    const find = whoseTokens(app);
    return async (lease) => find(vaultLeaseData(lease).token_id);
  },
};

/** Seconds. */
const RETRY_AFTER = 10;

function refuseForNow(lease_id: string, fault: VaultFault): Failure {
  if (fault.kind === 'busy') return refuseBusy(fault);
  const because = `lease ${lease_id} could not be revoked: ${fault.message}`;
  const more = fault instanceof NotAsked ? { retry_after: RETRY_AFTER } : {};
  return new Failure('unavailable', because, { cause: fault, ...more });
}

const PAGE = 200;

/**
 * Renews what is due and lets go of tokens that nothing hangs on any more. Each project has places of its own for
 * each server that it asks: none waits for another's.
 */
export async function keepVaultAlive(app: App, turn: Turn): Promise<void> {
  const find = whoseTokens(app);
  await shareWork(app, turn, 'renewals', async (work) => {
    const since = Math.floor(app.now() / 1000);
    const used = await renewLeases(app, turn, { work, find });
    if (used) await keepTokens(app, turn, { work, find, used, since });
  });
}

/** What one run looks at leases and tokens with. */
interface Keeping {
  work: SharedWork;
  find: ReturnType<typeof whoseTokens>;
}

/** @returns the tokens that living leases hang on; undefined when it was cut short */
async function renewLeases(
  app: App,
  turn: Turn,
  { work, find }: Keeping,
): Promise<ReadonlySet<string> | undefined> {
  const used = new Set<string>();
  const range = rangeOf(SESSION_LEASES);
  const breath = new Breath();
  for (let after = ''; !turn.stopping; ) {
    const page = await listRange(app.db, range, { after, limit: PAGE });
    for (const lease of page) {
      await breath.take();
      if (lease.kind !== VAULT_LEASE) continue;
      const { token_id, until } = vaultLeaseData(lease);
      used.add(token_id);
      const whose = isDue(app, lease) ? await find(token_id) : undefined;
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

function isDue(app: App, lease: Lease): boolean {
  const now = Math.floor(app.now() / 1000);
  const { renewable, renew_at, until } = vaultLeaseData(lease);
  return renewable && renew_at <= now && until > now && lease.expires_at > now;
}

async function renewLease(app: App, turn: Turn, lease: Lease, asked: Asked): Promise<Outcome> {
  const data = vaultLeaseData(lease);
  const token = await findVaultToken(app.db, data.token_id);
  // It may have waited for its place.
  if (!token || !isDue(app, lease)) return 'done';
  const now = Math.floor(app.now() / 1000);
  const body = JSON.stringify({ lease_id: data.lease_id });
  try {
    const renewed = await askAwake(
      app,
      openConnection(app, token),
      { method: 'PUT', path: 'sys/leases/renew', body },
      { ...asked, lease_id: data.lease_id },
    );
    const { renew_at, expires_at: until } = planRenewal(
      now,
      renewed.lease_duration || data.until - now,
    );
    const next = { ...data, renewable: renewed.renewable, renew_at, until };
    await turn.commit([saveVaultLease(lease, next, Math.floor(app.now() / 1000))], {
      lease_id: lease.id,
    });
    return 'done';
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    app.log.warn({ err, lease: lease.id }, 'a lease could not be renewed');
    return outcomeOf(err);
  }
}

const outcomeOf = (fault: VaultFault): Outcome =>
  fault instanceof NotAsked || fault.kind === 'busy' ? 'not asked' : 'in vain';

/** Tokens are looked at once all leases were: only then is it known what hangs on them. */
async function keepTokens(
  app: App,
  turn: Turn,
  { used, ...asking }: Keeping & { used: ReadonlySet<string>; since: number },
): Promise<void> {
  await hashTokens(app, turn);
  const keeping = { ...asking, usedMacs: await listTokenMacs(app.db, [...used]) };
  const breath = new Breath();
  for (let after = ''; !turn.stopping; ) {
    const page = await listVaultTokens(app.db, { after, limit: PAGE });
    for (const token of page) {
      await breath.take();
      await keepToken(app, turn, { ...token, isUsed: used.has(token.id) }, keeping);
    }
    after = page.at(-1)?.id ?? '';
    if (page.length === 0) return;
  }
}

type KeptToken = Awaited<ReturnType<typeof listVaultTokens>>[number] & { isUsed: boolean };

async function keepToken(
  app: App,
  turn: Turn,
  kept: KeptToken,
  {
    work,
    find,
    usedMacs,
    since,
  }: Keeping & { usedMacs: ReadonlySet<string | null>; since: number },
): Promise<void> {
  const { id, store_id, isUsed } = kept;
  const now = Math.floor(app.now() / 1000);
  const outcome = { store_id };
  // As of before the leases were looked at: those of a token that was replaced by then had all come.
  const care = planCare(kept, isUsed, since);
  if (care === 'replace') await turn.commit([replaceToken(id, now)], outcome);
  if (care === 'delete') await turn.commit([deleteVaultToken(id)], outcome);
  if (care !== 'revoke' && care !== 'renew') return;
  const whose = await find(id);
  if (!whose) return;
  work.offer({
    id,
    whose,
    until: kept.expires_at,
    async work(hurry) {
      // Read when it has its place: many wait, and what is sealed may be long.
      const token = await findVaultToken(app.db, id);
      if (!token) return 'done';
      const asked = { whose, hurry };
      if (care === 'renew') return renewToken(app, turn, token, asked);
      const end = await revokeToken(app, token, { asked, usedMacs });
      if (end === 'done') await turn.commit([deleteVaultToken(id)], outcome);
      return end;
    },
  });
}

async function renewToken(app: App, turn: Turn, token: VaultToken, asked: Asked): Promise<Outcome> {
  const now = Math.floor(app.now() / 1000);
  const save = (state: Parameters<typeof saveTokenState>[1]): Promise<unknown> =>
    turn.commit([saveTokenState(token, state)], {
      store_id: token.store_id,
      token_status: 'status' in state ? state.status : 'renewed',
    });
  const connection = openConnection(app, token);
  try {
    const request = { method: 'PUT', path: 'auth/token/renew-self', body: '{}' } as const;
    const renewed = await askAwake(app, connection, request, asked);
    await save(planRenewal(now, renewed.auth_duration ?? token.expires_at - now));
    return 'done';
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    app.log.warn({ err, store_id: token.store_id }, 'the token of a store could not be renewed');
    if (token.expires_at <= now) await save({ status: 'expired' });
    else if (await isGone(app, connection, { fault: err, asked }))
      await save({ status: 'revoked' });
    return outcomeOf(err);
  }
}

/** @returns `done` where nothing more is to be done about the token */
async function revokeToken(
  app: App,
  token: VaultToken,
  { asked, usedMacs }: { asked: Asked; usedMacs: ReadonlySet<string | null> },
): Promise<Outcome> {
  const connection = openConnection(app, token);
  if (await isLeftToAnother(app, token, { connection, usedMacs })) return 'done';
  try {
    const request = { method: 'PUT', path: 'auth/token/revoke-self', body: '{}' } as const;
    await askAwake(app, connection, request, asked);
    return 'done';
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    if (await isGone(app, connection, { fault: err, asked })) return 'done';
    app.log.warn({ err, store_id: token.store_id }, 'an old token could not be revoked yet');
    return outcomeOf(err);
  }
}

/**
 * Whether a server that refused a token something has it no longer. Some say no more of that than of a token that may
 * not do what was asked: that one may still look itself up, as a store requires.
 */
async function isGone(
  app: App,
  connection: VaultConnection,
  { fault, asked }: { fault: VaultFault; asked: Asked },
): Promise<boolean> {
  if (!saysDenied(fault)) return saysNoSuchToken(fault);
  try {
    await askAwake(app, connection, { method: 'GET', path: 'auth/token/lookup-self' }, asked);
    return false;
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    return saysDenied(err) || saysNoSuchToken(err);
  }
}
