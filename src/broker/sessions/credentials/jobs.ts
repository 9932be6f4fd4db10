import type { Job } from '../../../app/job.ts';
import { deleteExpiredInjected, listExpiredInjected } from './store.ts';

/** Rows of one write set: others write in between. */
const PAGE = 200;

export const sessionCredentialJobs: readonly Job[] = [
  {
    // What ends a session deletes its credentials too; this is for sessions that were never ended.
    name: 'broker/session-credentials',
    every_ms: 600_000,
    async run(app, turn) {
      const now = Math.floor(app.now() / 1000);
      while (!turn.stopping) {
        const page = await listExpiredInjected(app.db, now, PAGE);
        if (page.length === 0) return;
        const ids = [...new Set(page.map(({ session_id }) => session_id))];
        await turn.commit([deleteExpiredInjected(ids, now)]);
      }
    },
  },
];
