import type { Job } from '../../jobs.ts';
import { deleteAllRemains } from './operations.ts';

export const remainsJobs: readonly Job[] = [
  { name: 'mounts/remains', every_ms: 30_000, run: deleteAllRemains },
];
