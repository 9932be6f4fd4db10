import type { Job } from '../../app/job.ts';
import { renewDueCrls } from './renewal.operations.ts';

export const crlJobs: readonly Job[] = [
  // Readers never get one that is too old; this spares them the wait, and keeps those that are fetched seldom.
  { name: 'pki/crl', every_ms: 60_000, run: renewDueCrls },
];
