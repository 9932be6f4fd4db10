import { type App, perApp } from '../../app/app.ts';
import type { WorkerStatusRow } from '../../store/tables.ts';
import { listStatuses } from './store.ts';

/** How long what workers reported is taken as still true, in milliseconds. */
const POLL_MS = 1_000;

interface Reports {
  at: number;
  rows: Promise<WorkerStatusRow[]>;
}

const reportsOf = perApp((): { last: Reports | undefined } => ({ last: undefined }));

/** Last reports, read at most once a second however many sessions are asked for. */
export async function readReports(app: App): Promise<WorkerStatusRow[]> {
  const held = reportsOf(app);
  const now = app.now();
  if (held.last && now >= held.last.at && now - held.last.at < POLL_MS) return held.last.rows;
  const reports = { at: now, rows: listStatuses(app.db) };
  held.last = reports;
  reports.rows.catch(() => {
    if (held.last === reports) held.last = undefined;
  });
  return reports.rows;
}
