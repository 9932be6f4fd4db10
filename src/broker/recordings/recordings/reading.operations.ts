import type { App } from '../../../app/app.ts';
import type { PagedBody } from '../../../app/result.ts';
import { Failure } from '../../../core/failure.ts';
import type { RecordingFileRow, SessionRecordingRow } from '../../../store/tables.ts';
import { isOf } from '../../resource/handler.ts';
import { findResource } from '../../resource/store.ts';
import { StorageFault } from '../buckets/objects.ts';
import { openBucket } from '../buckets/opening.operations.ts';
import { bucketDefinition } from '../buckets/operations.ts';
import { listChannels, listFiles, listSomeChannels } from './files.store.ts';
import { openKey } from './keys.operations.ts';
import { FileFault, openPieces } from './sealed-piece.ts';
import { findRecording } from './store.ts';

/**
 * The content of a file, piece by piece.
 *
 * @throws Failure `unavailable` where its bucket is gone; while it is read, FileFault where it is not as it was
 *   written and StorageFault where the bucket does not give it
 */
async function* contentOf(
  app: App,
  recording: SessionRecordingRow,
  file: RecordingFileRow,
): AsyncGenerator<Uint8Array, void, undefined> {
  const bucket = await findResource(app.db, recording.bucket_id);
  if (!isOf(bucketDefinition, bucket)) {
    throw new Failure('unavailable', 'the storage bucket of the recording is gone');
  }
  const objects = openBucket(app, bucket);
  const key = openKey(app, recording);
  try {
    yield* openPieces(objects.read(`${recording.id}/${file.id}`, file.pieces), {
      recording_id: recording.id,
      id: file.id,
      key,
      end: { pieces: file.pieces, hash: file.head },
      is_closed: file.end_ms !== null,
    });
  } finally {
    key.fill(0);
  }
}

/**
 * A channel as a file. Its first piece is read before it is answered, and let go of, since nobody may come for the
 * rest; what is wrong with a later one breaks the answer off.
 */
export async function downloadChannel(app: App, file: RecordingFileRow): Promise<PagedBody> {
  const recording = await requireRecording(app, file.recording_id);
  const first = contentOf(app, recording, file);
  try {
    await first.next();
  } catch (error) {
    throw asFailure(error);
  } finally {
    await first.return();
  }
  return { length: undefined, pieces: () => contentOf(app, recording, file) };
}

function asFailure(cause: unknown): unknown {
  if (cause instanceof FileFault) {
    return new Failure('precondition', `the recording is not as it was written: ${cause.message}`);
  }
  if (cause instanceof StorageFault) {
    return new Failure('unavailable', `the recording cannot be read: ${cause.message}`, { cause });
  }
  return cause;
}

async function requireRecording(app: App, id: string): Promise<SessionRecordingRow> {
  const recording = await findRecording(app.db, id);
  if (!recording) throw new Failure('not_found', 'Resource not found.');
  return recording;
}

/** What came of looking through one file. */
export interface VerifiedFile {
  id: string;
  pieces: number;
  intact: boolean;
  /** Why not, where it is not. */
  error_details: string;
}

/** Reads all files of a recording, and tells of each whether it is as it was written. */
export async function verifyRecording(app: App, id: string): Promise<VerifiedFile[]> {
  const recording = await requireRecording(app, id);
  const verified: VerifiedFile[] = [];
  for await (const file of filesOf(app, id)) {
    verified.push({ id: file.id, pieces: file.pieces, ...(await verify(app, recording, file)) });
  }
  return verified;
}

async function verify(
  app: App,
  recording: SessionRecordingRow,
  file: RecordingFileRow,
): Promise<Pick<VerifiedFile, 'intact' | 'error_details'>> {
  try {
    for await (const _content of contentOf(app, recording, file)) {
      // That it opens is what is asked.
    }
    return { intact: true, error_details: '' };
  } catch (error) {
    if (!(error instanceof FileFault) && !(error instanceof StorageFault)) throw error;
    return { intact: false, error_details: error.message };
  }
}

/** All files of a recording, page by page. */
export const filesOf = (app: App, recording_id: string) =>
  allOf((after) => listFiles(app.db, recording_id, after, PAGE));

/** All channels of a connection, page by page. */
export const channelsOf = (app: App, connection_recording_id: string) =>
  allOf((after) => listChannels(app.db, connection_recording_id, after, PAGE));

const PAGE = 1_000;

async function* allOf(
  list: (after: RecordingFileRow | undefined) => Promise<RecordingFileRow[]>,
): AsyncGenerator<RecordingFileRow, void, undefined> {
  let after: RecordingFileRow | undefined;
  for (;;) {
    const page = await list(after);
    yield* page;
    after = page.at(-1);
    if (page.length < PAGE) return;
  }
}

/** Channels whose ids are told where one has to be chosen. */
const MOST_TOLD = 10;

/**
 * The only channel of a connection or of a recording.
 *
 * @param connection its recording; undefined: of the whole recording
 * @throws Failure `invalid` naming some where there are several
 */
export async function requireOnlyChannel(
  app: App,
  recording_id: string,
  connection?: RecordingFileRow,
): Promise<RecordingFileRow> {
  const channels = connection
    ? await listChannels(app.db, connection.id, undefined, MOST_TOLD)
    : await listSomeChannels(app.db, recording_id, MOST_TOLD);
  const [channel] = channels;
  if (channel && channels.length === 1) return channel;
  const ids = channels.map(({ id }) => id);
  const because =
    ids.length === 0
      ? 'Nothing was recorded of it.'
      : `Of several channels one is downloaded, by its id: ${ids.join(', ')}.`;
  throw new Failure('invalid', 'Error in provided request.', { fields: { id: because } });
}
