import { TOKEN_RANDOMNESS } from '../../../access/tokens/token-format.ts';
import type { App } from '../../../app/app.ts';
import type { Lease } from '../../../app/lease.ts';
import { base62 } from '../../../core/base62.ts';
import type { MadeLease } from '../../vault/client/made.ts';
import { sessionPrefix, VAULT_LEASE, type VaultLeaseData } from '../../vault/leases/lease.ts';
import { planRenewal } from '../../vault/tokens/token.ts';
import type { IssueRequest } from './issued.ts';

export function newLeaseId(app: App, { library, session }: IssueRequest): string {
  const random = base62(app.randomBytes(TOKEN_RANDOMNESS), 24);
  return `${sessionPrefix(session.id)}/${library.id}/${random}`;
}

/** The lease of what a Vault server gave; undefined where it needs no giving back. */
export function leaseOf(
  app: App,
  request: IssueRequest,
  asked: Pick<VaultLeaseData, 'token_id' | 'token_mac' | 'namespace'>,
  { lease_id, lease_duration, renewable }: MadeLease,
): Lease | undefined {
  if (lease_id === '') return undefined;
  const now = Math.floor(app.now() / 1000);
  const { expires_at } = request.session;
  // Without a duration a lease has no end of its own.
  const lasts = lease_duration || Math.max(0, expires_at - now) + TRIED;
  const { renew_at, expires_at: until } = planRenewal(now, lasts);
  const data: VaultLeaseData = { ...asked, lease_id, renewable, renew_at, until };
  return {
    id: newLeaseId(app, request),
    token_id: undefined,
    source_id: request.library.id,
    mount_id: '',
    kind: VAULT_LEASE,
    data: { ...data },
    issued_at: now,
    expires_at,
    renewed_at: undefined,
    renewable: false,
  };
}

/** Seconds that a lease of no known end is tried to be ended: as long as servers let any live unless they are told otherwise. */
const TRIED = 32 * 86_400;
