import { systemCaller } from '../access/system-caller.ts';
import type { App } from '../app/app.ts';
import type { Job } from '../app/job.ts';
import {
  closeConnectionsOfWorkers,
  closeOverdue,
} from '../broker/sessions/connections/operations.ts';
import { currentRoot } from '../broker/workers/root/operations.ts';
import { listSilentWorkers } from '../broker/workers/selection.operations.ts';
import { beginCarrying } from './embedded/carrying.operations.ts';
import { runErrands } from './hops/operations.ts';
import { beginLinking } from './link/operations.ts';

/** How often it is looked for sessions that are over while somebody uses them. */
const CUT_MS = 500;
/** How often it is looked whether workers that stand alone are still known. */
const CHECK_MS = 1_000;
/** How often it is looked what other servers ask of workers whose connection this one holds. */
const ERRANDS_MS = 500;
/** How often bytes that were carried are noted. */
const REPORT_MS = 10_000;

export const workerJobs: readonly Job[] = [
  {
    name: 'broker/silent-workers',
    every_ms: 5_000,
    async run(app) {
      const caller = systemCaller(app.newId(), 'silent-workers');
      const silent = await listSilentWorkers(app);
      if (silent.length > 0) await closeConnectionsOfWorkers(app, caller, silent);
      const worker_ids = await closeOverdue(app, caller);
      if (worker_ids.length > 0) app.log.warn({ worker_ids }, 'workers go on with what is over');
    },
  },
];

/**
 * Has this server carry sessions until it stops. Unlike periodic jobs, every node does this for
 * itself.
 *
 * @returns what is to be done at each unsealing, once this server's worker is registered
 * @throws Error with a `code` when the address of the proxy listener cannot be had
 */
export async function startCarrying(app: App): Promise<() => Promise<void>> {
  const linked = await beginLinking(app);
  const carrying = await beginCarrying(app, linked?.cut);
  const cut = every(CUT_MS, () => carrying.cut());
  const report = every(REPORT_MS, () => carrying.report());
  const renew = async (): Promise<void> => {
    const root = await currentRoot(app);
    await Promise.all([linked?.renew(root), carrying.renew(root)]);
  };
  const check = every(CHECK_MS, async () => {
    if (app.barrier.sealed) return;
    await renew().catch((err: unknown) => app.log.warn({ err }, 'certificates of workers'));
    await linked?.check();
  });
  const errands = every(ERRANDS_MS, () => runErrands(app));
  app.onClose(async () => {
    await Promise.all([cut(), report(), check(), errands()]);
    await Promise.all([carrying.close(), linked?.close()]);
  });
  return async () => {
    await renew();
    void carrying.begin();
  };
}

/** Does something again and again, never twice at once. @returns what stops it */
function every(milliseconds: number, work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= work().finally(() => {
      running = undefined;
    });
  }, milliseconds);
  timer.unref();
  return async () => {
    clearInterval(timer);
    await running;
  };
}
