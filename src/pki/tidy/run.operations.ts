import { setTimeout as wait } from 'node:timers/promises';
import { runHeld } from '../../access/held-runs.operations.ts';
import { systemCaller } from '../../access/system-caller.ts';
import { type App, perApp } from '../../app/app.ts';
import { type JobRun, LEASE_MS } from '../../app/job.ts';
import type { Mount } from '../../app/mount.ts';
import { nodeName } from '../../config/config.ts';
import { Failure } from '../../core/failure.ts';
import { doFor } from '../../core/fairness/asking.ts';
import { FewInTurn } from '../../core/fairness/few-in-turn.ts';
import { readMountsById } from '../../mounts/operations.ts';
import { acquireLease, LeaseWatch, releaseLease } from '../../store/job-lock.ts';
import { parseAutoTidy, pauseOf, type TidyRequest } from './fields.ts';
import {
  isUnderWay,
  NO_COUNTS,
  NO_PROGRESS,
  parseRun,
  type TidyRun,
  type TidyState,
} from './status.ts';
import { findTidyRow, finishRun, saveProgress } from './store.ts';
import { TIDY_OPERATIONS } from './table.operations.ts';
import type { TidyPage, TidyWork } from './work.ts';

/** Rows of one write set: whoever else writes waits for it. */
const ROWS = 50;
/** Rows of which only the keys are read. */
const KEYS = 500;
/** For each millisecond that a write set took, so many are left to others. */
const REST = 3;
/** How long a pause may last before it is asked whether to go on. */
const SLICE_MS = 500;

const NAME = 'pki/tidy';

interface Runs {
  running: Map<string, Promise<void>>;
  closed: boolean;
  seen: LeaseWatch;
  /** Mounts that are tidied at the same time write in turns. */
  writes: FewInTurn;
}

const runsOf = perApp<Runs>((app) => {
  const runs: Runs = {
    running: new Map(),
    closed: false,
    seen: new LeaseWatch(),
    writes: new FewInTurn(1),
  };
  app.onClose(async () => {
    runs.closed = true;
    await Promise.all(runs.running.values());
  });
  return runs;
});

/** How many mounts this server tidies now. */
export const countRuns = (app: App): number => runsOf(app).running.size;

/**
 * Does the tidying of a mount that the store says is under way, unless some node does it already. Nobody waits for it but
 * a server that stops.
 *
 * @returns ends when it does; never throws
 */
export function goOnTidying(app: App, mount_id: string): Promise<void> {
  const { running } = runsOf(app);
  const known = running.get(mount_id);
  if (known) return known;
  // It is no work of the request that began it, which is answered long before.
  const work = doFor(`mount ${mount_id}`, () => tidyIfFree(app, mount_id))
    .catch((err: unknown) => {
      if (!runsOf(app).closed && !app.barrier.sealed) app.log.error({ err }, 'a tidying failed');
    })
    .finally(() => running.delete(mount_id));
  running.set(mount_id, work);
  return work;
}

async function tidyIfFree(app: App, mount_id: string): Promise<void> {
  const { seen } = runsOf(app);
  const request = {
    name: `${NAME}/${mount_id}`,
    holder: nodeName(app.config),
    now_ms: app.now(),
    ttl_ms: LEASE_MS,
  };
  const lease = await acquireLease(app.store, request, { seen, longest_ms: LEASE_MS });
  if (!lease) return;
  const isStopping = (): boolean => runsOf(app).closed || app.barrier.sealed;
  try {
    await runHeld(app, NAME, {
      lease,
      isStopping,
      run: (turn) => tidyMount(app, mount_id, turn),
    });
  } finally {
    // Whoever has it by now keeps it.
    await app.store.commit([releaseLease(lease)]).catch(() => {});
  }
}

async function tidyMount(app: App, mount_id: string, turn: JobRun): Promise<void> {
  const row = await findTidyRow(app.db, mount_id);
  const run = row && parseRun(row);
  // Of a mount that is gone all rows are removed anyway.
  const mount = (await readMountsById(app)).get(mount_id);
  if (!run?.request || !isUnderWay(run) || !mount) return;
  const tidying = new Tidying(app, turn, { mount, run, request: run.request });
  let end: { state: TidyState; error: string | null };
  try {
    const state = await tidying.doAll();
    if (state === undefined) return;
    end = { state, error: null };
  } catch (error) {
    // Another node goes on with it, or this one once it may.
    if (turn.stopping) throw error;
    app.log.error({ err: error, mount: mount.path }, 'a mount could not be tidied');
    end = { state: 'Error', error: error instanceof Failure ? error.message : 'internal error' };
  }
  await tidying.finish(end);
}

/** One tidying of a mount, on the node that does it. */
class Tidying {
  readonly #app: App;
  readonly #turn: JobRun;
  readonly #mount: Mount;
  readonly #run: TidyRun;
  readonly #request: TidyRequest;
  #counts: TidyRun['counts'];
  #progress: TidyRun['progress'];

  constructor(
    app: App,
    turn: JobRun,
    { mount, run, request }: { mount: Mount; run: TidyRun; request: TidyRequest },
  ) {
    this.#app = app;
    this.#turn = turn;
    this.#mount = mount;
    this.#run = run;
    this.#request = request;
    // What was removed stays removed; what was only counted is counted again.
    this.#counts = request.dry_run ? NO_COUNTS : run.counts;
    this.#progress = request.dry_run ? NO_PROGRESS : run.progress;
  }

  /** @returns undefined where somebody else is to go on with it */
  async doAll(): Promise<'Finished' | 'Cancelled' | undefined> {
    const chosen = TIDY_OPERATIONS.filter(({ flag }) => this.#request[flag]);
    const work = this.#work();
    let total = this.#progress.done;
    for (const { estimate } of chosen) {
      // Of many rows it takes seconds, which nobody waits for who stops the server or cancels.
      for await (const rows of estimate?.({ ...work, limit: KEYS }) ?? []) {
        if (this.#turn.stopping) return undefined;
        if (await this.#isCancelled()) return 'Cancelled';
        total += rows;
      }
    }
    this.#progress = { ...this.#progress, total };
    for (const { flag, pages } of chosen) {
      this.#progress = { ...this.#progress, work: flag };
      await this.#save();
      if (await this.#isCancelled()) return 'Cancelled';
      for await (const page of pages(work)) {
        if (this.#turn.stopping) return undefined;
        if (await this.#isCancelled()) return 'Cancelled';
        const began = performance.now();
        await this.#commit(page);
        await this.#rest(page, performance.now() - began);
      }
    }
    return (await this.#isCancelled()) ? 'Cancelled' : 'Finished';
  }

  #work(): TidyWork {
    const { dry_run, page_size } = this.#request;
    const pause_ms = pauseOf(this.#request) ?? 0;
    // With a pause after each row few are removed at once, or a single one.
    const most = dry_run ? KEYS : pause_ms > 0 ? Math.ceil(SLICE_MS / pause_ms) : ROWS;
    return {
      app: this.#app,
      mount_id: this.#mount.id,
      caller: { ...systemCaller(this.#app.newId(), `job/${NAME}`), mount: this.#mount },
      request: this.#request,
      now: Math.floor((this.#run.started_at_ms ?? 0) / 1000),
      limit: Math.max(1, Math.min(most, page_size, dry_run ? KEYS : ROWS)),
      fence: () => this.#turn.fence(),
    };
  }

  /** Makes a page durable together with how far the tidying has come. */
  async #commit({ effects, counts, rows }: TidyPage): Promise<void> {
    const next = { ...this.#counts };
    for (const name of Object.keys(counts) as (keyof typeof counts)[]) {
      next[name] += counts[name] ?? 0;
    }
    this.#counts = next;
    const done = this.#progress.done + rows;
    this.#progress = { ...this.#progress, done, total: Math.max(done, this.#progress.total) };
    if (this.#request.dry_run || (effects.length === 0 && rows === 0)) return this.#save();
    await runsOf(this.#app).writes.run(() =>
      this.#turn.commit([...effects, this.#saved()], { mount: this.#mount.path, ...counts }),
    );
  }

  /** Without an audit record: nothing has happened. */
  #save(): Promise<void> {
    return this.#app.store.commit([this.#turn.fence(), this.#saved()]);
  }

  #saved() {
    const of = { mount_id: this.#mount.id, run_id: this.#run.run_id };
    return saveProgress(of, { counts: this.#counts, progress: this.#progress });
  }

  async #isCancelled(): Promise<boolean> {
    const row = await findTidyRow(this.#app.db, this.#mount.id);
    return row?.run_id !== this.#run.run_id || row.state === 'Cancelling';
  }

  /** Leaves the database to others, and pauses as it was asked for. */
  async #rest({ rows, effects }: TidyPage, took_ms: number): Promise<void> {
    const pause_ms = (pauseOf(this.#request) ?? 0) * rows;
    let left = Math.max(effects.length > 0 ? took_ms * REST : 0, pause_ms);
    while (left > 0 && !this.#turn.stopping) {
      const slice = Math.min(left, SLICE_MS);
      await wait(slice);
      left -= slice;
      if (left > 0 && (await this.#isCancelled())) return;
    }
  }

  async finish({ state, error }: { state: TidyState; error: string | null }): Promise<void> {
    const { id: mount_id, path: mount } = this.#mount;
    const row = await findTidyRow(this.#app.db, mount_id);
    const now_ms = this.#app.now();
    const isWell = state === 'Finished' && !this.#request.dry_run;
    const auto = parseAutoTidy(row?.auto ?? '');
    const end = finishRun({
      mount_id,
      run_id: this.#run.run_id,
      state,
      error,
      now_ms,
      last_finished_at_ms: isWell ? now_ms : this.#run.last_finished_at_ms,
      due_at_ms: auto.enabled ? now_ms + auto.interval_duration * 1000 : null,
    });
    await this.#turn.commit([this.#saved(), end], { mount, state, ...this.#counts });
  }
}
