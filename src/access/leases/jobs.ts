import type { Job } from '../../app/job.ts';
import { endDueAlone, endDueByAsking } from './expiration.operations.ts';

export const leaseJobs: readonly Job[] = [
  // Leases are dead the moment their time is over or their token is gone; this ends what they
  // stand for.
  { name: 'access/leases', every_ms: 10_000, run: endDueAlone },
  // However many of those there are, what is had from elsewhere is given back meanwhile.
  { name: 'access/leases-elsewhere', every_ms: 10_000, run: endDueByAsking },
];
