import type { App } from '../../app/app.ts';
import type { Job, JobRun } from '../../app/job.ts';
import { isConflict } from '../../core/failure.ts';
import { Breath } from '../../core/fairness/breath.ts';
import { findMountById } from '../../mounts/operations.ts';
import { scheduleCrl } from '../crl/scheduling.operations.ts';
import { readCrlConfig } from '../crl/settings.operations.ts';
import { planCarryingOut } from './requests.operations.ts';
import { listRequestsTo, type RevocationRequest } from './requests.store.ts';

export const revocationJobs: readonly Job[] = [
  // What others ask a cluster for, that cluster does: also what it was asked for while it was not there.
  { name: 'pki/revocation-queue', every_ms: 10_000, of_cluster: true, run: carryOutRequests },
];

const PAGE = 100;

/** Revokes what other clusters ask this one for. One that cannot be revoked keeps none of the others from it. @see P-489 */
async function carryOutRequests(app: App, turn: JobRun): Promise<void> {
  const cluster = app.config.cluster_name;
  const breath = new Breath();
  const failures: unknown[] = [];
  for (let last = { mount_id: '', serial: '' }; ; ) {
    const page = await listRequestsTo.all(app.db, { cluster, ...last, limit: PAGE });
    for (const request of page) {
      if (turn.stopping) return;
      await breath.take();
      await carryOut(app, turn, request).catch((error: unknown) => failures.push(error));
    }
    const end = page.at(-1);
    if (!end || page.length < PAGE) break;
    last = { mount_id: end.mount_id, serial: end.serial };
  }
  // What was changed meanwhile is looked at again the next time.
  const [err] = failures.filter((error) => !isConflict(error));
  if (err !== undefined && !turn.stopping) {
    app.log.warn({ err }, 'some requests of other clusters to revoke were not carried out');
  }
}

async function carryOut(app: App, turn: JobRun, request: RevocationRequest): Promise<void> {
  const { mount_id } = request;
  const mount = await findMountById(app, mount_id);
  // Of a mount that is gone all rows are removed anyway.
  if (!mount) return;
  const { effects, outcome, issuer_id } = await planCarryingOut(app, request);
  await turn.commit(effects, { mount: mount.path, ...outcome });
  const { auto_rebuild } = await readCrlConfig(app, mount_id);
  if (!auto_rebuild && issuer_id !== '') scheduleCrl(app, mount_id, issuer_id);
}
