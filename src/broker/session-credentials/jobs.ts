import type { Job } from '../../jobs.ts';
import { deleteExpiredInjected, hasExpiredInjected } from './store.ts';

export const sessionCredentialJobs: readonly Job[] = [
  {
    // What ends a session deletes its credentials too; this is for sessions that were never ended.
    name: 'broker/session-credentials',
    every_ms: 600_000,
    async run(app, turn) {
      const now = Math.floor(app.now() / 1000);
      if (!(await hasExpiredInjected(app.db, now))) return;
      await turn.commit([deleteExpiredInjected(now)]);
    },
  },
];
