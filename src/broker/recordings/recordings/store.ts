import { build, type Db, prepared } from '../../../store/database.ts';
import { inBlocks } from '../../../store/in-blocks.ts';
import type { SessionRecordingRow } from '../../../store/tables.ts';
import { type Write, write } from '../../../store/write.ts';
import { laterThanBefore } from '../../sessions/transitions.store.ts';

const byId = prepared<{ id: string }, SessionRecordingRow>((from, { id }) =>
  from.selectFrom('session_recording').selectAll().where('id', '=', id),
);
const bySession = prepared<{ session_id: string }, SessionRecordingRow>((from, { session_id }) =>
  from.selectFrom('session_recording').selectAll().where('session_id', '=', session_id),
);

export function findRecording(db: Db, id: string): Promise<SessionRecordingRow | undefined> {
  return byId.first(db, { id });
}

export function findRecordingOfSession(
  db: Db,
  session_id: string,
): Promise<SessionRecordingRow | undefined> {
  return bySession.first(db, { session_id });
}

export async function listRecordings(
  db: Db,
  ids: readonly string[],
): Promise<Map<string, SessionRecordingRow>> {
  const rows = await inBlocks([...new Set(ids)], (some) =>
    db.selectFrom('session_recording').selectAll().where('id', 'in', some).execute(),
  );
  return new Map(rows.map((row) => [row.id, row]));
}

export function insertRecording(row: SessionRecordingRow): Write {
  return write(build.insertInto('session_recording').values(row), { rows: 1 });
}

const started = prepared<
  { limit: number },
  Pick<SessionRecordingRow, 'id' | 'session_id' | 'org_id'>
>((from, { limit }) =>
  from
    .selectFrom('session_recording')
    .leftJoin('session', 'session.id', 'session_recording.session_id')
    .select(['session_recording.id', 'session_recording.session_id', 'session_recording.org_id'])
    .where('session_recording.state', '=', 'started')
    .where((row) =>
      row.or([row('session.id', 'is', null), row('session.status', '=', 'terminated')]),
    )
    .limit(limit),
);

/** Recordings that go on although their session has ended. */
export function listEnded(
  db: Db,
  limit: number,
): Promise<Pick<SessionRecordingRow, 'id' | 'session_id' | 'org_id'>[]> {
  return started.all(db, { limit });
}

/** What a recording becomes at its end. */
export interface RecordingEnd extends Retention {
  state: 'available' | 'unknown';
  error_details: string;
  start_ms: number | null;
  end_ms: number;
}

export interface Retention {
  retain_until_ms: number;
  delete_after_ms: number | null;
}

export function endRecording(id: string, end: RecordingEnd): Write {
  return write(
    build
      .updateTable('session_recording')
      .set(end)
      .where('id', '=', id)
      .where('state', '=', 'started'),
    { rows: 1 },
  );
}

/** Has lists that are refreshed tell of it. */
export function noteChange(id: string, now: number): Write {
  return write(
    build
      .updateTable('resource')
      .set((row) => ({ updated_ms: laterThanBefore(now), version: row('version', '+', 1) }))
      .where('id', '=', id),
  );
}

/** Refused once its removal was begun. */
export function saveRetention(id: string, retention: Retention): Write {
  return write(
    build
      .updateTable('session_recording')
      .set(retention)
      .where('id', '=', id)
      .where('deleting_ms', 'is', null),
    { rows: 1 },
  );
}

/** Begins its removal: of one that goes on, or that must be retained, never. */
export function beginDeleting(id: string, now: number): Write {
  return write(
    build
      .updateTable('session_recording')
      .set({ deleting_ms: now })
      .where('id', '=', id)
      .where('state', '<>', 'started')
      .where('retain_until_ms', '<=', now),
    { rows: 1, conflict: 'the recording goes on, or must be retained' },
  );
}

/** Where a list of recordings that are to be removed goes on. */
export interface DeletionCursor {
  ms: number;
  id: string;
}

export interface ToDelete extends DeletionCursor {
  bucket_id: string;
}

/** Recordings that are due, and whose removal has not begun; what was due first comes first. */
export function listDueToDelete(
  db: Db,
  now: number,
  after: DeletionCursor,
  limit: number,
): Promise<ToDelete[]> {
  return db
    .selectFrom('session_recording')
    .select(['id', 'bucket_id'])
    .select((row) => row.fn.coalesce('delete_after_ms', row.val(0)).as('ms'))
    .where('delete_after_ms', '<=', now)
    .where((row) =>
      row(
        row.refTuple('delete_after_ms', 'id'),
        '>',
        row.tuple(row.val(after.ms), row.val(after.id)),
      ),
    )
    .where('retain_until_ms', '<=', now)
    .where('state', '<>', 'started')
    .where('deleting_ms', 'is', null)
    .orderBy('delete_after_ms')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Recordings whose removal was begun and not finished; what was tried longest ago comes first. */
export function listHalfDeleted(
  db: Db,
  now: number,
  after: DeletionCursor,
  limit: number,
): Promise<ToDelete[]> {
  return db
    .selectFrom('session_recording')
    .select(['id', 'bucket_id'])
    .select((row) => row.fn.coalesce('deleting_ms', row.val(0)).as('ms'))
    .where('deleting_ms', '<=', now)
    .where((row) =>
      row(row.refTuple('deleting_ms', 'id'), '>', row.tuple(row.val(after.ms), row.val(after.id))),
    )
    .orderBy('deleting_ms')
    .orderBy('id')
    .limit(limit)
    .execute();
}

export function deleteRecording(id: string): Write[] {
  return [
    write(build.deleteFrom('recording_file').where('recording_id', '=', id)),
    write(
      build
        .deleteFrom('session_recording')
        .where('id', '=', id)
        .where('deleting_ms', 'is not', null),
      { rows: 1 },
    ),
  ];
}

/** The first connection of a recording is its beginning. */
export function noteStart(recording_id: string, now: number): Write {
  return write(
    build
      .updateTable('session_recording')
      .set((row) => ({ start_ms: row.fn.coalesce('start_ms', row.val(now)) }))
      .where('id', '=', recording_id)
      .where('state', '=', 'started'),
    { rows: 1 },
  );
}

const retained = (now: number, scope_id: string) =>
  build
    .selectFrom('session_recording')
    .innerJoin('resource', 'resource.id', 'session_recording.id')
    .select('session_recording.id')
    .where('resource.scope_id', '=', scope_id)
    .where((row) =>
      row.or([
        row('session_recording.state', '=', 'started'),
        row('session_recording.retain_until_ms', '>', now),
      ]),
    );

/** Whether a scope holds recordings that must be retained, or go on. */
export async function hasRetained(db: Db, now: number, scope_id: string): Promise<boolean> {
  return (await db.executeQuery(retained(now, scope_id).limit(1))).rows.length > 0;
}

/** Forgets the recordings of a scope that is removed, with their keys; refused where {@link hasRetained}. */
export function forgetRecordingsIn(now: number, scope_id: string): Write[] {
  const inside = build
    .selectFrom('resource')
    .select('id')
    .where('scope_id', '=', scope_id)
    .where('type', '=', 'session-recording');
  return [
    write(retained(now, scope_id), { rows: 0 }),
    write(build.deleteFrom('recording_file').where('recording_id', 'in', inside)),
    write(build.deleteFrom('session_recording').where('id', 'in', inside)),
  ];
}
