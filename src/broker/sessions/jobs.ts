import type { Job } from '../../app/job.ts';
import { planIdle } from './idle.operations.ts';
import {
  type OrphanPage,
  planDue,
  planOrphanCancellation,
  takeBackWhereEnded,
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
    name: 'broker/idle-sessions',
    every_ms: 5_000,
    isWanted: ({ config }) => config.session_limits.idle_seconds !== undefined,
    async run(app, turn) {
      const { idle_seconds } = app.config.session_limits;
      if (idle_seconds === undefined) return;
      while (!turn.stopping) {
        const page = await planIdle(app, idle_seconds);
        if (!page) return;
        const { effects, idle } = page;
        // That sessions are used is nothing to record.
        if (idle.length === 0) await app.store.commit([...effects, turn.fence()]);
        else await turn.commit(effects, { idle_session_ids: idle });
        await takeBackWhereEnded(app, idle);
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
