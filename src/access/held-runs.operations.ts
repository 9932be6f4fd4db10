import type { App } from '../app/app.ts';
import { BEAT_MS, type JobRun, LEASE_MS } from '../app/job.ts';
import { type JobLock, renewLease } from '../store/job-lock.ts';
import type { Effect } from '../store/write.ts';
import { systemCaller } from './system-caller.ts';

/** What is done by whoever has its lease, and no longer than that. */
interface HeldRun {
  lease: JobLock;
  isStopping(): boolean;
  run(turn: JobRun): Promise<void>;
}

/**
 * Does the work of a lease, which is renewed meanwhile; what it writes is refused once another node has taken over.
 *
 * @param name in its audit records, e.g. `pki/tidy`
 */
export async function runHeld(
  app: App,
  name: string,
  { lease, isStopping, run }: HeldRun,
): Promise<void> {
  const run_id = app.newId();
  const fence = (): Effect => renewLease(lease, app.now() + LEASE_MS);
  let lost = false;
  const beat = setInterval(() => {
    app.store.commit([fence()]).catch(() => {
      lost = true;
    });
  }, BEAT_MS);
  beat.unref();
  try {
    await run({
      commit(effects, outcome = {}) {
        const caller = systemCaller(run_id, `job/${name}`);
        Object.assign(caller.record.outcome, outcome);
        return app.commit(caller, [fence(), ...effects]);
      },
      fence,
      get stopping() {
        return lost || isStopping();
      },
    });
  } finally {
    clearInterval(beat);
  }
}
