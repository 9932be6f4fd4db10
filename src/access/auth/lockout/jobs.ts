import type { Job } from '../../../app/job.ts';
import { tidyFailures } from './operations.ts';

export const lockoutJobs: readonly Job[] = [
  { name: 'access/lockout', every_ms: 300_000, run: tidyFailures },
];
