import type { Job } from '../../../app/job.ts';
import { keepVaultAlive } from './operations.ts';

export const vaultJobs: readonly Job[] = [
  // Tokens and leases are renewed with half of their time left: those of a minute are, also after a run in which
  // a server did not answer.
  { name: 'broker/vault', every_ms: 10_000, run: keepVaultAlive },
];
