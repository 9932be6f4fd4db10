import { type App, perApp } from '../../app/app.ts';
import type { Job, JobRun } from '../../app/job.ts';
import { isConflict } from '../../core/failure.ts';
import type { PkiTidyRow } from '../../store/tables.ts';
import { parseAutoTidy, requestOfAuto } from './fields.ts';
import { countRuns, goOnTidying } from './run.operations.ts';
import { listDueMounts, listRunning, saveDue, startRun } from './store.ts';

export const tidyJobs: readonly Job[] = [{ name: 'pki/tidy', every_ms: 10_000, run: tidyMounts }];

/** Mounts that one server tidies by itself at the same time. */
const AT_ONCE = 4;
const PAGE = 100;

/** When this server began, and its share of the time that it waits then: not all servers are to begin at once. */
const beginningOf = perApp((app) => {
  const [share = 0] = app.randomBytes(1);
  return { at_ms: app.now(), share: share / 255 };
});

/** Goes on with tidyings whose node is gone, and begins those that are due. */
async function tidyMounts(app: App, turn: JobRun): Promise<void> {
  const beginning = beginningOf(app);
  for (let after = ''; !turn.stopping; ) {
    const page = await listRunning.all(app.db, { after, limit: PAGE });
    for (const { mount_id } of page) {
      if (countRuns(app) < AT_ONCE) void goOnTidying(app, mount_id);
    }
    after = page.at(-1)?.mount_id ?? '';
    if (page.length < PAGE) break;
  }
  for (const row of await listDueMounts.all(app.db, { now_ms: app.now(), limit: PAGE })) {
    if (turn.stopping || countRuns(app) >= AT_ONCE) return;
    if (isInBackoff(app, row, beginning)) continue;
    await begin(app, turn, row);
  }
}

/** Whether a mount was due before this server began, and that is not long enough ago. @see P-358 */
function isInBackoff(
  app: App,
  { auto, due_at_ms }: PkiTidyRow,
  { at_ms, share }: { at_ms: number; share: number },
): boolean {
  if ((due_at_ms ?? 0) >= at_ms) return false;
  const { min_startup_backoff_duration: least, max_startup_backoff_duration: most } =
    parseAutoTidy(auto);
  return app.now() < at_ms + (least + (most - least) * share) * 1000;
}

async function begin(app: App, turn: JobRun, { mount_id, auto }: PkiTidyRow): Promise<void> {
  const config = parseAutoTidy(auto);
  const now_ms = app.now();
  const due_at_ms = config.enabled ? now_ms + config.interval_duration * 1000 : null;
  const started = { run_id: app.newId(), request: requestOfAuto(config), now_ms };
  try {
    await turn.commit([
      ...(config.enabled ? [startRun(mount_id, started)] : []),
      saveDue({ mount_id, due_at_ms }),
    ]);
  } catch (error) {
    // It is being tidied already, by hand; or the job is another node's by now, which the next page finds out.
    if (isConflict(error)) return;
    throw error;
  }
  void goOnTidying(app, mount_id);
}
