import type { Job } from '../../../app/job.ts';
import { planDeletion, planEnds } from './ending.operations.ts';
import { type DeletionCursor, listDueToDelete, listHalfDeleted } from './store.ts';

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
      const now = app.now();
      const buckets = new BucketPatience();
      const seen = new Set<string>();
      for (const list of [listDueToDelete, listHalfDeleted]) {
        let after: DeletionCursor = { ms: -1, id: '' };
        for (;;) {
          const page = await list(app.db, now, after, PAGE);
          for (const { id, bucket_id } of page) {
            if (turn.stopping) return;
            if (seen.has(id) || buckets.isTrying(bucket_id)) continue;
            seen.add(id);
            try {
              await turn.commit(await planDeletion(app, id), { recording_id: id });
              buckets.note(bucket_id, true);
            } catch (err) {
              buckets.note(bucket_id, false);
              app.log.warn({ err, recording_id: id }, 'a recording that is due is not deleted yet');
            }
          }
          const last = page.at(-1);
          if (!last || page.length < PAGE) break;
          after = last;
        }
      }
    },
  },
];

/** So many recordings in turn that a bucket does not remove, and it is left alone until the next run. */
const MOST_FAILURES = 5;

/** A bucket that does not answer holds up no other one. */
class BucketPatience {
  readonly #failures = new Map<string, number>();

  isTrying(bucket_id: string): boolean {
    return (this.#failures.get(bucket_id) ?? 0) >= MOST_FAILURES;
  }

  note(bucket_id: string, isDone: boolean): void {
    this.#failures.set(bucket_id, isDone ? 0 : (this.#failures.get(bucket_id) ?? 0) + 1);
  }
}
