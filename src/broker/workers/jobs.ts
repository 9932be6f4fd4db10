import type { App } from '../../app/app.ts';
import { reportOwnWorker } from './embedded.operations.ts';
import { watchReports } from './status.operations.ts';
import { REPORT_MS } from './worker.ts';

/** How long a server that stops waits until its worker has said so. */
const GOODBYE_MS = 1_000;

/**
 * Has this server's worker report from the unsealing until it stops. Unlike periodic jobs,
 * every node does this for itself.
 */
export function startReporting(app: App): void {
  let timer: NodeJS.Timeout | undefined;
  let reporting = Promise.resolve();
  const report = (): Promise<void> => {
    reporting = reportOwnWorker(app, 'active').then(() => watchReports(app));
    return reporting;
  };
  app.barrier.onUnseal(async () => {
    await report();
    clearInterval(timer);
    timer = setInterval(() => void report(), REPORT_MS);
    timer.unref();
  });
  app.barrier.onSeal(() => clearInterval(timer));
  app.onClose(async () => {
    clearInterval(timer);
    await reporting;
    if (app.barrier.sealed) return;
    const goodbye = AbortSignal.timeout(GOODBYE_MS);
    await Promise.race([
      reportOwnWorker(app, 'shutdown'),
      new Promise((resolve) => goodbye.addEventListener('abort', resolve)),
    ]);
  });
}
