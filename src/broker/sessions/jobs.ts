import type { Job } from '../../app/job.ts';
import {
  type OrphanPage,
  planDue,
  planOrphanCancellation,
  takeCredentialsBack,
} from './termination.operations.ts';

export const sessionJobs: readonly Job[] = [
  {
    name: 'broker/sessions',
    every_ms: 30_000,
    async run(app, turn) {
      while (!turn.stopping) {
        const page = await planDue(app);
        if (!page) return;
        const { effects, ended, forgotten } = page;
        await turn.commit(effects, { ended: ended.length, forgotten: forgotten.length });
        if (ended.length > 0) takeCredentialsBack(app, ended);
      }
    },
  },
  {
    name: 'broker/session-grounds',
    every_ms: 300_000,
    async run(app, turn) {
      let after: OrphanPage['last'];
      do {
        const { effects, ended, last }: OrphanPage = await planOrphanCancellation(app, after);
        if (ended.length > 0) await turn.commit(effects, { ended: ended.length });
        after = last;
      } while (after && !turn.stopping);
    },
  },
];
