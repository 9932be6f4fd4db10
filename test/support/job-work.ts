import { workOf } from '../../src/access/leases/ending.operations.ts';
import { endDueLeases } from '../../src/access/leases/expiration.operations.ts';
import { systemCaller } from '../../src/access/system-caller.ts';
import type { App } from '../../src/app/app.ts';
import type { JobRun } from '../../src/app/job.ts';

// What timers do, when a test says so. The server's own timers may do it at the same time.

const workOfJob = (app: App) => workOf(app, systemCaller('job', 'test'));

export const turnOfJob = (app: App): JobRun => ({
  commit: workOfJob(app).commit,
  fence() {
    throw new Error('not asked for');
  },
  stopping: false,
});

export const endDue = (app: App): Promise<void> => endDueLeases(app, workOfJob(app));
