import type { Job } from '../app/job.ts';
import { cutOldRecords } from './retention.operations.ts';

export const auditJobs: readonly Job[] = [
  { name: 'audit/retention', every_ms: 3_600_000, run: cutOldRecords },
];
