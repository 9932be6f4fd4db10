import type { Job } from '../../../app/job.ts';
import { deleteRemovalsBefore, hasRemovalsBefore } from './removals.store.ts';
import { LIFETIME_MS } from './token.ts';

export const listJobs: readonly Job[] = [
  {
    // Twice a token's life: one in the middle of a listing asks for what went since its beginning.
    name: 'broker/removals',
    every_ms: 6 * 3_600_000,
    async run(app, turn) {
      const before = app.now() - 2 * LIFETIME_MS;
      while (!turn.stopping && (await hasRemovalsBefore(app.db, before))) {
        await app.store.commit([turn.fence(), deleteRemovalsBefore(before)]);
      }
    },
  },
];
