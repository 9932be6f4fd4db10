import { approleJobs } from '../access/auth/approle/jobs.ts';
import { lockoutJobs } from '../access/auth/lockout/jobs.ts';
import { runHeld } from '../access/held-runs.operations.ts';
import { leaseJobs } from '../access/leases/jobs.ts';
import { tokenJobs } from '../access/tokens/jobs.ts';
import { type App, perApp } from '../app/app.ts';
import { BEAT_MS, type Job, LEASE_MS } from '../app/job.ts';
import { auditJobs } from '../audit/jobs.ts';
import { authTokenJobs } from '../broker/iam/auth-tokens/jobs.ts';
import { recordingJobs } from '../broker/recordings/recordings/jobs.ts';
import { listJobs } from '../broker/resource/lists/jobs.ts';
import { sessionCredentialJobs } from '../broker/sessions/credentials/jobs.ts';
import { sessionJobs } from '../broker/sessions/jobs.ts';
import { vaultJobs } from '../broker/vault/leases/jobs.ts';
import { nodeName } from '../config/config.ts';
import { isConflict } from '../core/failure.ts';
import { crlJobs } from '../pki/crl/jobs.ts';
import { expirationJobs } from '../pki/expiration/jobs.ts';
import { revocationJobs } from '../pki/revocation/jobs.ts';
import { tidyJobs } from '../pki/tidy/jobs.ts';
import {
  acquireLease,
  findHolder,
  type JobLock,
  LeaseWatch,
  renewLease,
} from '../store/job-lock.ts';
import { remainsJobs } from '../system/mounts/jobs.ts';
import { workerJobs } from '../worker/jobs.ts';

/**
 * Everything that a server does on a timer. A feature that has such work declares it in its
 * `jobs.ts` and adds its list here; nothing else sets a timer for work on stored rows.
 */
const periodicJobs: readonly Job[] = [
  ...tokenJobs,
  ...approleJobs,
  ...leaseJobs,
  ...remainsJobs,
  ...tidyJobs,
  ...lockoutJobs,
  ...auditJobs,
  ...expirationJobs,
  ...authTokenJobs,
  ...listJobs,
  ...sessionJobs,
  ...recordingJobs,
  ...workerJobs,
  ...vaultJobs,
  ...sessionCredentialJobs,
  ...crlJobs,
  ...revocationJobs,
];

/** A run that failed is tried again after this long, or when it is due if that is sooner. */
const RETRY_MS = 30_000;
/** Work left by the run before begins soon after the start, not at the same moment on all nodes. */
const FIRST_MS = 1_000;

/** Starts the timers of all jobs; they stop, and the runs under way end, when the server closes. */
export function startJobs(app: App, jobs: readonly Job[] = periodicJobs): void {
  for (const job of jobs) if (job.isWanted?.(app) ?? true) startJob(app, job);
}

function startJob(app: App, job: Job): void {
  let closed = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  const isStopping = (): boolean => closed || app.barrier.sealed;

  const wait = (milliseconds: number): void => {
    clearTimeout(timer);
    if (closed) return;
    timer = setTimeout(
      () => {
        running ??= attempt().finally(() => {
          running = undefined;
        });
      },
      jitter(app, milliseconds),
    );
    timer.unref();
  };
  const attempt = async (): Promise<void> => {
    // Unsealing sets the timer again.
    if (isStopping()) return;
    wait(await runIfFree(app, job, isStopping));
  };

  app.barrier.onUnseal(() => wait(FIRST_MS));
  app.onClose(async () => {
    closed = true;
    clearTimeout(timer);
    await running;
  });
  if (!app.barrier.sealed) wait(FIRST_MS);
}

/** Up to a tenth longer, so that nodes do not all ask at the same moment. */
function jitter(app: App, milliseconds: number): number {
  const [share = 0] = app.randomBytes(1);
  return Math.ceil(milliseconds * (1 + share / 2560));
}

const seenBy = perApp(() => new LeaseWatch());

/** The lease of a job; of what each cluster does for itself, that of this server's cluster. */
function leaseOf({ config: { cluster_name } }: App, { name, of_cluster }: Job): string {
  return of_cluster && cluster_name !== '' ? `${name}/${cluster_name}` : name;
}

/**
 * Runs a job if no other node has it.
 *
 * @returns milliseconds until it should be tried again; never throws
 */
export async function runIfFree(
  app: App,
  job: Job,
  isStopping: () => boolean = () => false,
): Promise<number> {
  let lease: JobLock | undefined;
  try {
    const request = {
      name: leaseOf(app, job),
      holder: nodeName(app.config),
      now_ms: app.now(),
      ttl_ms: LEASE_MS,
    };
    const longest_ms = Math.max(job.every_ms, LEASE_MS);
    lease = await acquireLease(app.store, request, { seen: seenBy(app), longest_ms });
    if (lease === undefined) {
      const found = await findHolder(app.db, leaseOf(app, job));
      const left = (found?.expires_at_ms ?? 0) - app.now();
      return Math.min(Math.max(left, BEAT_MS), longest_ms);
    }
    await runHeld(app, job.name, { lease, isStopping, run: (turn) => job.run(app, turn) });
    return await keep(app, lease, job.every_ms);
  } catch (err) {
    const soon = Math.min(job.every_ms, RETRY_MS);
    if (isStopping()) return soon;
    if (isConflict(err)) {
      app.log.info({ job: job.name, why: err.message }, 'a job ended early');
    } else {
      app.log.error({ err, job: job.name }, 'a job failed');
    }
    return lease === undefined ? soon : keep(app, lease, soon).catch(() => soon);
  }
}

/** Holds the lease until the next run is due, so that no node begins one before. */
async function keep(app: App, lease: JobLock, milliseconds: number): Promise<number> {
  await app.store.commit([renewLease(lease, app.now() + milliseconds)]);
  return milliseconds;
}
