import type { Job } from '../../app/job.ts';
import { deleteAllRemains, endStrays } from './purge.operations.ts';

export const remainsJobs: readonly Job[] = [
  { name: 'mounts/remains', every_ms: 30_000, run: deleteAllRemains },
  { name: 'mounts/strays', every_ms: 300_000, run: endStrays },
];
