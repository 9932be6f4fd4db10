import type { Job } from '../../../app/job.ts';
import { tidySecretIds } from './secret-ids.operations.ts';

export const approleJobs: readonly Job[] = [
  // Nobody can log in with one that has run out; this gives back the room.
  { name: 'access/approle', every_ms: 60_000, run: tidySecretIds },
];
