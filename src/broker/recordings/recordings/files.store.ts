import { build, type Db, prepared, preparedWrite } from '../../../store/database.ts';
import type { RecordingFileRow } from '../../../store/tables.ts';
import { type Write, write } from '../../../store/write.ts';
import type { PieceHead } from './sealed-piece.ts';

// The files of recordings: one for each connection, which is the index of its channels, and one for each channel.

const fileById = prepared<{ id: string }, RecordingFileRow>((from, { id }) =>
  from.selectFrom('recording_file').selectAll().where('id', '=', id),
);

export function findFile(db: Db, id: string): Promise<RecordingFileRow | undefined> {
  return fileById.first(db, { id });
}

export function findFileOfConnection(
  db: Db,
  connection_id: string,
): Promise<RecordingFileRow | undefined> {
  return db
    .selectFrom('recording_file')
    .selectAll()
    .where('connection_id', '=', connection_id)
    .whereRef('connection_recording_id', '=', 'id')
    .executeTakeFirst();
}

/** What files of a recording have to be looked at at once. */
export type FileCursor = Pick<RecordingFileRow, 'start_ms' | 'id'>;

const page = prepared<{ of: string; limit: number } & FileCursor, RecordingFileRow>(
  (from, { of, start_ms, id, limit }) =>
    from
      .selectFrom('recording_file')
      .selectAll()
      .where('recording_id', '=', of)
      .where((row) =>
        row(row.refTuple('start_ms', 'id'), '>', row.tuple(row.val(start_ms), row.val(id))),
      )
      .orderBy('start_ms')
      .orderBy('id')
      .limit(limit),
);

/** The files of a recording, the first first. */
export function listFiles(
  db: Db,
  recording_id: string,
  after: FileCursor = { start_ms: -1, id: '' },
  limit = 1_000,
): Promise<RecordingFileRow[]> {
  return page.all(db, { of: recording_id, ...after, limit });
}

const channelPage = prepared<{ of: string; limit: number } & FileCursor, RecordingFileRow>(
  (from, { of, start_ms, id, limit }) =>
    from
      .selectFrom('recording_file')
      .selectAll()
      .where('connection_recording_id', '=', of)
      .where((row) =>
        row(row.refTuple('start_ms', 'id'), '>', row.tuple(row.val(start_ms), row.val(id))),
      )
      .where('id', '<>', of)
      .orderBy('start_ms')
      .orderBy('id')
      .limit(limit),
);

/** The channels of a connection, the first first. */
export function listChannels(
  db: Db,
  connection_recording_id: string,
  after: FileCursor = { start_ms: -1, id: '' },
  limit = 1_000,
): Promise<RecordingFileRow[]> {
  return channelPage.all(db, { of: connection_recording_id, ...after, limit });
}

/** Some of the channels of a recording, whatever their connections. */
export function listSomeChannels(
  db: Db,
  recording_id: string,
  limit: number,
): Promise<RecordingFileRow[]> {
  return db
    .selectFrom('recording_file')
    .selectAll()
    .where('recording_id', '=', recording_id)
    .whereRef('connection_recording_id', '<>', 'id')
    .orderBy('start_ms')
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Bytes of all connections of a recording that have ended. */
export async function sumTraffic(
  db: Db,
  recording_id: string,
): Promise<{ bytes_up: number; bytes_down: number }> {
  const row = await db
    .selectFrom('recording_file')
    .select((one) => [
      one.fn.sum<number | string | null>('bytes_up').as('bytes_up'),
      one.fn.sum<number | string | null>('bytes_down').as('bytes_down'),
    ])
    .where('recording_id', '=', recording_id)
    .whereRef('connection_recording_id', '=', 'id')
    .executeTakeFirst();
  return { bytes_up: Number(row?.bytes_up ?? 0), bytes_down: Number(row?.bytes_down ?? 0) };
}

export function insertFile(row: RecordingFileRow): Write {
  return write(build.insertInto('recording_file').values(row), { rows: 1 });
}

type NextHead = Pick<RecordingFileRow, 'bytes_up' | 'bytes_down' | 'updated_ms' | 'end_ms'> & {
  id: string;
  at: number;
  pieces: number;
  hash: Uint8Array;
};

const saveHead = preparedWrite<NextHead>(
  (from, p) =>
    from
      .updateTable('recording_file')
      .set({
        pieces: p.pieces,
        head: p.hash,
        bytes_up: p.bytes_up,
        bytes_down: p.bytes_down,
        updated_ms: p.updated_ms,
        end_ms: p.end_ms,
      })
      .where('id', '=', p.id)
      .where('pieces', '=', p.at)
      .where('end_ms', 'is', null),
  { rows: 1 },
);

/** Notes a piece that was written; refused if another one came before it. */
export function savePiece(
  file: Pick<RecordingFileRow, 'id' | 'pieces'>,
  { pieces, hash }: PieceHead,
  more: Pick<RecordingFileRow, 'bytes_up' | 'bytes_down' | 'updated_ms' | 'end_ms'>,
): Write {
  return saveHead({ id: file.id, at: file.pieces, pieces, hash, ...more });
}
