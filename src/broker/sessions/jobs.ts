import type { Job } from '../../app/job.ts';
import {
  type GroundPage,
  planDue,
  planGroundless,
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
      let after: GroundPage['last'];
      do {
        const { effects, ended, last }: GroundPage = await planGroundless(app, after);
        if (ended.length > 0) await turn.commit(effects, { ended: ended.length });
        after = last;
      } while (after && !turn.stopping);
    },
  },
];
