import type { Job } from '../../../app/job.ts';
import { planDeletion, planEnds } from './ending.operations.ts';
import { listToDelete } from './store.ts';

const PAGE = 100;

export const recordingJobs: readonly Job[] = [
  {
    name: 'broker/session-recordings',
    every_ms: 5_000,
    async run(app, turn) {
      while (!turn.stopping) {
        const { effects, ended } = await planEnds(app, PAGE);
        if (ended.length === 0) return;
        await turn.commit(effects, { ended: ended.length });
      }
    },
  },
  {
    name: 'broker/storage-policies',
    every_ms: 60_000,
    async run(app, turn) {
      // One whose bucket does not answer holds up no other, and is tried again with the next run.
      for (const id of await listToDelete(app.db, app.now(), PAGE)) {
        if (turn.stopping) return;
        try {
          await turn.commit(await planDeletion(app, id), { recording_id: id });
        } catch (err) {
          app.log.warn({ err, recording_id: id }, 'a recording that is due is not deleted yet');
        }
      }
    },
  },
];
