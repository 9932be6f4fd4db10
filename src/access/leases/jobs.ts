import type { Job } from '../../jobs.ts';
import { endDueLeases } from './ending/operations.ts';

export const leaseJobs: readonly Job[] = [
  // Leases are dead the moment their time is over or their token is gone; this ends what they
  // stand for.
  { name: 'access/leases', every_ms: 10_000, run: endDueLeases },
];
