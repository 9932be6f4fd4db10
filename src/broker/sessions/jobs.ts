import type { Job } from '../../jobs.ts';
import { planDue, takeCredentialsBack } from './ending/operations.ts';

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
];
