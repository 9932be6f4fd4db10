import type { Lease } from '../../src/app/lease.ts';

/** When leases are made here, Unix seconds. */
export const ISSUED_AT = 1_800_000_000;

/** A lease of ten seconds that nobody holds. */
export function leaseOf(id: string, facts: Partial<Lease> = {}): Lease {
  return {
    id,
    token_id: undefined,
    mount_id: '',
    kind: 'test',
    data: { n: 1 },
    issued_at: ISSUED_AT,
    expires_at: ISSUED_AT + 10,
    renewed_at: undefined,
    renewable: false,
    ...facts,
  };
}
