import type { Job } from '../../jobs.ts';
import { keepVaultAlive } from './operations.ts';

export const vaultJobs: readonly Job[] = [
  // Tokens and leases are renewed with half of their time left.
  { name: 'broker/vault', every_ms: 15_000, run: keepVaultAlive },
];
