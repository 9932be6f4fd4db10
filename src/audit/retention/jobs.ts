import type { Job } from '../../job.ts';
import { cutOldRecords } from './operations.ts';

export const auditJobs: readonly Job[] = [
  { name: 'audit/retention', every_ms: 3_600_000, run: cutOldRecords },
];
