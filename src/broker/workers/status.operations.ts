import { type App, perApp } from '../../app/app.ts';
import type { WorkerStatusRow } from '../../store/tables.ts';
import { ReportWatch } from './report-watch.ts';
import { listStatuses } from './store.ts';
import { GRACE_MS } from './worker.ts';

/** How long what workers reported is taken as still true, in milliseconds. */
const POLL_MS = 1_000;

interface Reports {
  at: number;
  rows: Promise<WorkerStatusRow[]>;
}

interface Held {
  last: Reports | undefined;
  watch: ReportWatch;
}

const reportsOf = perApp((): Held => ({ last: undefined, watch: new ReportWatch() }));

/** Whether reports that were read at a time are still gone by. */
export const areFresh = (at: number, now: number): boolean => now >= at && now - at < POLL_MS;

/** When reports were last read. */
export const reportsReadAt = (app: App): number => reportsOf(app).last?.at ?? 0;

/** Last reports, read at most once a second however many sessions are asked for. */
export async function readReports(app: App): Promise<WorkerStatusRow[]> {
  const held = reportsOf(app);
  const now = app.now();
  if (held.last && areFresh(held.last.at, now)) return held.last.rows;
  const reports = { at: now, rows: held.watch.look(() => listStatuses(app.db)) };
  held.last = reports;
  reports.rows.catch(() => {
    if (held.last === reports) held.last = undefined;
  });
  return reports.rows;
}

/** As {@link readReports}, of this moment. */
function lookAgain(app: App): Promise<WorkerStatusRow[]> {
  reportsOf(app).last = undefined;
  return readReports(app);
}

/** Looks who has reported, also where nobody asks: who has not looked does not know who is silent. Never throws. */
export async function watchReports(app: App): Promise<void> {
  await readReports(app).catch((err: unknown) => {
    app.log.warn({ err }, 'what workers reported could not be read');
  });
}

/**
 * Ids of workers that can be given sessions: active, and heard of within the last fifteen seconds.
 *
 * The stored time is trusted only where nobody has looked for long enough, so that a server that has just started
 * can choose among the workers that are there: it may take one for alive, or for silent, for the seconds until its next
 * report. Where reports were seen to come, no clock that was set can make a worker silent.
 */
export async function listAlive(app: App): Promise<Set<string>> {
  const reports = await readReports(app);
  const { watch } = reportsOf(app);
  const oldest_ms = app.now() - GRACE_MS;
  const alive = reports.filter(({ worker_id, operational_state, last_status_ms }) => {
    if (operational_state !== 'active') return false;
    const hearing = watch.judge(worker_id);
    return hearing === 'heard' || (hearing === 'not known' && last_status_ms >= oldest_ms);
  });
  return new Set(alive.map(({ worker_id }) => worker_id));
}

/**
 * Which of some workers have lost what they carry: they have gone, or were watched saying nothing for fifteen seconds.
 * What is not known is not lost: right after a start no worker is silent.
 */
export async function listSilent(app: App, ids: readonly string[]): Promise<string[]> {
  return whoIsSilent(app, await readReports(app), ids);
}

/** Which of some workers that were silent a moment ago still are. */
export async function listStillSilent(app: App, ids: readonly string[]): Promise<string[]> {
  return whoIsSilent(app, await lookAgain(app), ids);
}

function whoIsSilent(app: App, rows: readonly WorkerStatusRow[], ids: readonly string[]): string[] {
  const reports = new Map(rows.map((report) => [report.worker_id, report]));
  const { watch } = reportsOf(app);
  return ids.filter(
    (id) => reports.get(id)?.operational_state !== 'active' || watch.judge(id) === 'silent',
  );
}
