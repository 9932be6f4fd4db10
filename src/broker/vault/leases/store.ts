import type { Lease } from '../../../app/lease.ts';
import { build } from '../../../store/database.ts';
import { type Write, write } from '../../../store/write.ts';
import type { VaultLeaseData } from './lease.ts';

/** Notes a renewal, if the session still has the lease, and nobody else has noted one. */
export function saveVaultLease(
  { id, data: read }: Pick<Lease, 'id' | 'data'>,
  data: VaultLeaseData,
  now: number,
): Write {
  return write(
    build
      .updateTable('lease')
      .set({ data: JSON.stringify(data), renewed_at: now })
      .where('id', '=', id)
      .where('data', '=', JSON.stringify(read))
      .where('expires_at', '>', now),
  );
}
