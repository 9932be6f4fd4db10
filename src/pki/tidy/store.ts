import { sql } from 'kysely';
import { type Db, prepared, preparedWrite } from '../../store/database.ts';
import type { PkiTidyRow } from '../../store/tables.ts';
import type { Write } from '../../store/write.ts';
import type { TidyRequest } from './fields.ts';
import { NO_COUNTS, NO_PROGRESS, type TidyCounts, type TidyProgress } from './status.ts';

const rowOfMount = prepared((sql, p: { mount_id: string }) =>
  sql.selectFrom('pki_tidy').selectAll().where('mount_id', '=', p.mount_id),
);

export function findTidyRow(db: Db, mount_id: string): Promise<PkiTidyRow | undefined> {
  return rowOfMount.first(db, { mount_id });
}

const UNDER_WAY = ['Running', 'Cancelling'];
export const IN_PROGRESS = 'Tidy operation already in progress.';

type Started = {
  mount_id: string;
  run_id: string;
  request: string;
  counts: string;
  progress: string;
  now_ms: number;
};

const startRow = preparedWrite(
  (sql, p: Started) =>
    sql
      .insertInto('pki_tidy')
      .values({
        mount_id: p.mount_id,
        auto: '',
        due_at_ms: null,
        run_id: p.run_id,
        state: 'Running',
        request: p.request,
        counts: p.counts,
        progress: p.progress,
        error: null,
        started_at_ms: p.now_ms,
        finished_at_ms: null,
        last_finished_at_ms: 0,
      })
      .onConflict((clash) =>
        clash
          .column('mount_id')
          .doUpdateSet({
            run_id: p.run_id,
            state: 'Running',
            request: p.request,
            counts: p.counts,
            progress: p.progress,
            error: null,
            started_at_ms: p.now_ms,
            finished_at_ms: null,
          })
          .where('pki_tidy.state', 'not in', UNDER_WAY),
      ),
  { rows: 1, conflict: IN_PROGRESS },
);

/** Begins a tidying; a `conflict` while there is one, on whatever node. */
export function startRun(
  mount_id: string,
  { run_id, request, now_ms }: { run_id: string; request: TidyRequest; now_ms: number },
): Write {
  return startRow({
    mount_id,
    run_id,
    request: JSON.stringify(request),
    counts: JSON.stringify(NO_COUNTS),
    progress: JSON.stringify(NO_PROGRESS),
    now_ms,
  });
}

/** Asks whoever tidies a mount to stop; a `conflict` where nobody does. */
export const cancelRun = preparedWrite(
  (sql, p: { mount_id: string; run_id: string }) =>
    sql
      .updateTable('pki_tidy')
      .set({ state: 'Cancelling' })
      .where('mount_id', '=', p.mount_id)
      .where('run_id', '=', p.run_id)
      .where('state', 'in', UNDER_WAY),
  { rows: 1, conflict: 'the tidying is over' },
);

const progressRow = preparedWrite(
  (sql, p: { mount_id: string; run_id: string; counts: string; progress: string }) =>
    sql
      .updateTable('pki_tidy')
      .set({ counts: p.counts, progress: p.progress })
      .where('mount_id', '=', p.mount_id)
      .where('run_id', '=', p.run_id)
      .where('state', 'in', UNDER_WAY),
  { rows: 1, conflict: 'the tidying is over, or its mount is gone' },
);

/** Belongs into the write set that removes what it counts. */
export function saveProgress(
  { mount_id, run_id }: { mount_id: string; run_id: string },
  { counts, progress }: { counts: TidyCounts; progress: TidyProgress },
): Write {
  const texts = { counts: JSON.stringify(counts), progress: JSON.stringify(progress) };
  return progressRow({ mount_id, run_id, ...texts });
}

/** Ends a tidying in one of the states that are ends. */
export const finishRun = preparedWrite(
  (
    sql,
    p: {
      mount_id: string;
      run_id: string;
      state: string;
      error: string | null;
      now_ms: number;
      last_finished_at_ms: number;
      due_at_ms: number | null;
    },
  ) =>
    sql
      .updateTable('pki_tidy')
      .set({
        state: p.state,
        error: p.error,
        finished_at_ms: p.now_ms,
        last_finished_at_ms: p.last_finished_at_ms,
        due_at_ms: p.due_at_ms,
      })
      .where('mount_id', '=', p.mount_id)
      .where('run_id', '=', p.run_id)
      .where('state', 'in', UNDER_WAY),
  { rows: 1, conflict: 'the tidying is over' },
);

const autoRow = preparedWrite(
  (sql, p: { mount_id: string; read: string; auto: string; due_at_ms: number | null }) =>
    sql
      .insertInto('pki_tidy')
      .values({
        mount_id: p.mount_id,
        auto: p.auto,
        due_at_ms: p.due_at_ms,
        run_id: '',
        state: 'Inactive',
        request: '',
        counts: '',
        progress: '',
        error: null,
        started_at_ms: null,
        finished_at_ms: null,
        last_finished_at_ms: 0,
      })
      .onConflict((clash) =>
        clash
          .column('mount_id')
          .doUpdateSet({ auto: p.auto, due_at_ms: p.due_at_ms })
          .where('pki_tidy.auto', '=', p.read),
      ),
  { rows: 1, conflict: 'config/auto-tidy was changed by somebody else in the meantime: try again' },
);

/** Writes the configuration of automatic tidying, unless it is not what was read any more. */
export function saveAuto(
  mount_id: string,
  texts: { read: string; auto: string; due_at_ms: number | null },
): Write {
  return autoRow({ mount_id, ...texts });
}

/** Sets when a mount is tidied by itself again. */
export const saveDue = preparedWrite((sql, p: { mount_id: string; due_at_ms: number | null }) =>
  sql.updateTable('pki_tidy').set({ due_at_ms: p.due_at_ms }).where('mount_id', '=', p.mount_id),
);

/** Mounts that are being tidied, in order, after one; their node may be gone. */
export const listRunning = prepared((db, p: { after: string; limit: number }) =>
  db
    .selectFrom('pki_tidy')
    .select('mount_id')
    // In the words of the index, which no parameters are.
    .where(sql<boolean>`state in ('Running', 'Cancelling')`)
    .where('mount_id', '>', p.after)
    .orderBy('mount_id')
    .limit(p.limit),
);

/** Mounts that are due to be tidied by themselves, those that are due longest coming first. */
export const listDueMounts = prepared((sql, p: { now_ms: number; limit: number }) =>
  sql
    .selectFrom('pki_tidy')
    .selectAll()
    .where('due_at_ms', '<=', p.now_ms)
    .orderBy('due_at_ms')
    .limit(p.limit),
);

/** Mounts that have been tidied or have a configuration, in order, after one. */
export const listTidyRows = prepared((sql, p: { after: string; limit: number }) =>
  sql
    .selectFrom('pki_tidy')
    .selectAll()
    .where('mount_id', '>', p.after)
    .orderBy('mount_id')
    .limit(p.limit),
);
