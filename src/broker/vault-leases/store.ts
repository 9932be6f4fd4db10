import { build } from '../../store/database.ts';
import { type Write, write } from '../../store/write.ts';
import type { VaultLeaseData } from './lease.ts';

/** Notes a renewal, if the session still has the lease. */
export function saveVaultLease(id: string, data: VaultLeaseData, now: number): Write {
  return write(
    build
      .updateTable('lease')
      .set({ data: JSON.stringify(data), renewed_at: now })
      .where('id', '=', id)
      .where('expires_at', '>', now),
  );
}
