import type { Job } from '../../../app/job.ts';
import { endDeadLogIns, planStrayTokens } from './operations.ts';

export const authTokenJobs: readonly Job[] = [
  {
    name: 'broker/auth-tokens',
    every_ms: 60_000,
    run: endDeadLogIns,
  },
  {
    name: 'broker/log-in-tokens',
    every_ms: 600_000,
    async run(app, turn) {
      for (let after: string | undefined = ''; after !== undefined && !turn.stopping; ) {
        const page: Awaited<ReturnType<typeof planStrayTokens>> = await planStrayTokens(app, after);
        if (page.stray.length > 0) await turn.commit(page.effects, { removed: page.stray.length });
        after = page.last;
      }
    },
  },
];
