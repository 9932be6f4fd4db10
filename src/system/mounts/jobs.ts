import type { Job } from '../../app/job.ts';
import { endStrays, purgeRemovedMounts } from './purge.operations.ts';

export const remainsJobs: readonly Job[] = [
  { name: 'mounts/remains', every_ms: 30_000, run: purgeRemovedMounts },
  { name: 'mounts/strays', every_ms: 300_000, run: endStrays },
];
