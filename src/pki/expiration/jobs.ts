import type { Job } from '../../app/job.ts';
import { deliverDue } from './delivery.operations.ts';
import { lookAhead } from './walking.operations.ts';

export const expirationJobs: readonly Job[] = [
  { name: 'pki/expiration', every_ms: 300_000, run: lookAhead },
  // Apart: a receiver that does not answer keeps nobody from looking ahead.
  { name: 'pki/expiration-delivery', every_ms: 20_000, run: deliverDue },
];
