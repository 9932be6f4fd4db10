import type { Job } from '../../jobs.ts';
import { planDeadLogIns, planStrayTokens } from './operations.ts';

export const authTokenJobs: readonly Job[] = [
  {
    name: 'broker/auth-tokens',
    every_ms: 60_000,
    async run(app, turn) {
      let at: Parameters<typeof planDeadLogIns>[1] | undefined = { ms: 0, id: '' };
      while (at && !turn.stopping) {
        const { effects, dead, next } = await planDeadLogIns(app, at);
        if (dead.length > 0) await turn.commit(effects, { removed: dead.length });
        at = next;
      }
    },
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
