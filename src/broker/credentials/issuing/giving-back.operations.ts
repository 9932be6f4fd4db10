import { insertLease } from '../../../access/leases/store.ts';
import { systemCaller } from '../../../access/system-caller.ts';
import type { App } from '../../../app/app.ts';
import type { Lease } from '../../../app/lease.ts';
import type { VaultConnection } from '../../vault/client/answer.ts';
import { askVault } from '../../vault/client/client.ts';
import { vaultLeaseData } from '../../vault/leases/lease.ts';
import { revokeAtVault } from '../../vault/leases/operations.ts';

/** What became of what was given back: it has ended, will be ended, or goes on until its server ends it. */
type GivenBack = 'ended' | 'due' | 'left';

/** What cannot be given back at once is due: the job of the leases tries again. Never throws. */
export async function giveLeaseBack(
  app: App,
  connection: VaultConnection,
  lease: Lease,
): Promise<GivenBack> {
  try {
    await revokeAtVault(app, connection, vaultLeaseData(lease).lease_id);
    return 'ended';
  } catch (err) {
    app.log.warn({ err, lease: lease.id }, 'a credential is given back later');
    const caller = systemCaller(app.newId(), 'broker/library-issuing');
    caller.record.outcome.lease_id = lease.id;
    const due = { ...lease, expires_at: Math.floor(app.now() / 1000) };
    try {
      await app.commit(caller, [insertLease(due)]);
      return 'due';
    } catch (error) {
      app.log.error({ err: error, lease: lease.id }, 'a credential could not be given back');
      return 'left';
    }
  }
}

/**
 * Ends the token that an answer is instead of a secret: it may end itself, whatever the store's token may. It is not kept
 * for a later time, since it ends with the store's token. Never throws.
 *
 * @returns undefined where nothing was made
 */
export async function giveTokenBack(
  app: App,
  connection: VaultConnection,
  { token, library_id }: { token: string; library_id: string },
): Promise<GivenBack | undefined> {
  // A server that says again what it was sent has made nothing.
  if (token === connection.token) return undefined;
  try {
    const revoke = { method: 'PUT', path: 'auth/token/revoke-self', body: '{}' } as const;
    await askVault(app, { ...connection, token }, revoke);
    return 'ended';
  } catch (err) {
    app.log.warn({ err, library: library_id }, 'a token that a library made could not be revoked');
    return 'left';
  }
}
