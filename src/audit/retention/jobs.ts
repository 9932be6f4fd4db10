import type { Job } from '../../jobs.ts';
import { cutOldRecords } from './operations.ts';

export const auditJobs: readonly Job[] = [
  { name: 'audit/retention', every_ms: 3_600_000, run: cutOldRecords },
];
