import type { Lease, LeaseKind } from '../../access/leases/lease.ts';
import { rangeOf } from '../../access/leases/lease.ts';
import { listRange } from '../../access/leases/store.ts';
import { type App, perApp } from '../../app.ts';
import type { Turn } from '../../jobs.ts';
import { type VaultConnection, VaultFault } from '../vault-client/answer.ts';
import { askVault, type VaultRequest } from '../vault-client/operations.ts';
import { openConnection } from '../vault-tokens/operations.ts';
import {
  deleteVaultToken,
  findVaultToken,
  listVaultTokens,
  replaceToken,
  saveTokenState,
} from '../vault-tokens/store.ts';
import { planRenewal, type VaultToken } from '../vault-tokens/token.ts';
import { SESSION_LEASES, VAULT_LEASE, vaultLeaseData } from './lease.ts';
import { saveVaultLease } from './store.ts';

/** Servers that did not answer lately, and until when nobody waits for them (Unix ms). */
const silentServers = perApp(() => new Map<string, number>());
const SILENCE_MS = 30_000;
/** Addresses are what stores say: of more than so many at once each is waited for. */
const MOST_SILENT = 1000;

function noteSilence(silent: Map<string, number>, address: string, now: number): void {
  for (const [known, until] of silent) if (until <= now) silent.delete(known);
  if (silent.size < MOST_SILENT) silent.set(address, now + SILENCE_MS);
}

/** As {@link askVault}, but gives up at once on a server that did not answer a moment ago. */
async function askAwake(
  app: App,
  connection: VaultConnection,
  request: VaultRequest,
): ReturnType<typeof askVault> {
  const silent = silentServers(app);
  if ((silent.get(connection.address) ?? 0) > app.now()) {
    throw new VaultFault('unreachable', 'the Vault server did not answer a moment ago');
  }
  try {
    return await askVault(app, connection, request);
  } catch (error) {
    if (error instanceof VaultFault && error.kind === 'unreachable') {
      noteSilence(silent, connection.address, app.now());
    }
    throw error;
  }
}

/** Ends a lease on its Vault server; one that it no longer knows is as good as ended. */
export async function revokeAtVault(
  app: App,
  connection: VaultConnection,
  lease_id: string,
): Promise<void> {
  try {
    await askAwake(app, connection, {
      method: 'PUT',
      path: 'sys/leases/revoke',
      body: JSON.stringify({ lease_id }),
    });
  } catch (error) {
    const unknown = error instanceof VaultFault && (error.status === 400 || error.status === 404);
    if (!unknown) throw error;
  }
}

/**
 * Leases of what Vault servers gave to sessions. An end that fails is tried again, until the
 * server has ended the lease by itself.
 */
export const vaultLease: LeaseKind = {
  async planEnd(app, lease) {
    const { token_id, lease_id, until } = vaultLeaseData(lease);
    const token = await findVaultToken(app.db, token_id);
    // With its token gone, so is all that was asked with it.
    if (token && until > app.now() / 1000) {
      await revokeAtVault(app, openConnection(app, token), lease_id);
    }
    return { effects: [] };
  },
};

const PAGE = 200;
/** Requests to Vault servers at the same time. */
const AT_ONCE = 10;
/** Seconds until a token that was replaced may go: who read it before has used it by then. */
const GRACE = 120;

/** Renews what is due and lets go of tokens that nothing hangs on any more. */
export async function keepVaultAlive(app: App, turn: Turn): Promise<void> {
  const used = await renewLeases(app, turn);
  if (used === undefined) return;
  for (let after = ''; !turn.stopping; ) {
    const page = await listVaultTokens(app.db, { after, limit: PAGE });
    await inTurns(page, (token) => keepToken(app, turn, token, used.has(token.id)));
    after = page.at(-1)?.id ?? '';
    if (page.length === 0) return;
  }
}

async function inTurns<T>(page: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let start = 0; start < page.length; start += AT_ONCE) {
    await Promise.all(page.slice(start, start + AT_ONCE).map(work));
  }
}

/** @returns the tokens that living leases hang on; undefined when it was cut short */
async function renewLeases(app: App, turn: Turn): Promise<ReadonlySet<string> | undefined> {
  const used = new Set<string>();
  const range = rangeOf(SESSION_LEASES);
  for (let after = ''; !turn.stopping; ) {
    const page = await listRange(app.db, range, { after, limit: PAGE });
    const own = page.filter(({ kind }) => kind === VAULT_LEASE);
    for (const lease of own) used.add(vaultLeaseData(lease).token_id);
    await inTurns(own, (lease) => renewLease(app, turn, lease));
    after = page.at(-1)?.id ?? '';
    if (page.length === 0) return used;
  }
  return undefined;
}

async function renewLease(app: App, turn: Turn, lease: Lease): Promise<void> {
  const now = Math.floor(app.now() / 1000);
  const data = vaultLeaseData(lease);
  if (!data.renewable || data.renew_at > now || data.until <= now || lease.expires_at <= now) {
    return;
  }
  const token = await findVaultToken(app.db, data.token_id);
  if (!token) return;
  try {
    const renewed = await askAwake(app, openConnection(app, token), {
      method: 'PUT',
      path: 'sys/leases/renew',
      body: JSON.stringify({ lease_id: data.lease_id }),
    });
    const { renew_at, expires_at: until } = planRenewal(
      now,
      renewed.lease_duration || data.until - now,
    );
    const next = { ...data, renewable: renewed.renewable, renew_at, until };
    await turn.commit([saveVaultLease(lease, next, Math.floor(app.now() / 1000))], {
      lease_id: lease.id,
    });
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    app.log.warn({ err, lease: lease.id }, 'a lease could not be renewed');
  }
}

async function keepToken(
  app: App,
  turn: Turn,
  token: VaultToken & { stored: boolean },
  used: boolean,
): Promise<void> {
  const now = Math.floor(app.now() / 1000);
  if (!token.stored && token.replaced_at === null) {
    await turn.commit([replaceToken(token.id, now)], { store_id: token.store_id });
    return;
  }
  const { replaced_at, expires_at, renew_at, status } = token;
  const alive = status === 'current' || status === 'maintaining';
  if (replaced_at !== null && !used && replaced_at + GRACE <= now) {
    if (!alive || expires_at <= now || (await revokeToken(app, token))) {
      await turn.commit([deleteVaultToken(token.id)], { store_id: token.store_id });
    }
    return;
  }
  if (!alive) return;
  if (renew_at <= now) await renewToken(app, turn, token, now);
}

async function renewToken(app: App, turn: Turn, token: VaultToken, now: number): Promise<void> {
  const save = (state: Parameters<typeof saveTokenState>[1]): Promise<unknown> =>
    turn.commit([saveTokenState(token, state)], {
      store_id: token.store_id,
      token_status: 'status' in state ? state.status : 'renewed',
    });
  try {
    const renewed = await askAwake(app, openConnection(app, token), {
      method: 'PUT',
      path: 'auth/token/renew-self',
      body: '{}',
    });
    await save(planRenewal(now, renewed.auth_duration ?? token.expires_at - now));
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    app.log.warn({ err, store_id: token.store_id }, 'the token of a store could not be renewed');
    if (token.expires_at <= now) await save({ status: 'expired' });
    else if (err.kind === 'refused') await save({ status: 'revoked' });
  }
}

/** Whether a store works with the same token still: it was given back to it, or to another. */
async function isInUse(app: App, one: VaultToken, connection: VaultConnection): Promise<boolean> {
  for (let after = ''; ; ) {
    const page = await listVaultTokens(app.db, { after, limit: PAGE });
    for (const other of page) {
      if (other.id === one.id || other.replaced_at !== null || !other.stored) continue;
      if (openConnection(app, other).token === connection.token) return true;
    }
    after = page.at(-1)?.id ?? '';
    if (page.length === 0) return false;
  }
}

/** @returns whether nothing more is to be done about the token */
async function revokeToken(app: App, token: VaultToken): Promise<boolean> {
  const connection = openConnection(app, token);
  if (await isInUse(app, token, connection)) return true;
  try {
    await askAwake(app, connection, {
      method: 'PUT',
      path: 'auth/token/revoke-self',
      body: '{}',
    });
    return true;
  } catch (err) {
    if (!(err instanceof VaultFault)) throw err;
    if (err.kind === 'refused') return true;
    app.log.warn({ err, store_id: token.store_id }, 'an old token could not be revoked yet');
    return false;
  }
}
