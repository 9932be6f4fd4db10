import type { App } from '../../../app/app.ts';
import { NONCE_LENGTH } from '../../../barrier/envelope.ts';
import { Failure } from '../../../core/failure.ts';
import type { RecordingFileRow, SessionRecordingRow } from '../../../store/tables.ts';
import { isOf } from '../../resource/handler.ts';
import type { Resource } from '../../resource/resource.ts';
import { findResource } from '../../resource/store.ts';
import type { BucketBody } from '../buckets/bucket.ts';
import { type ObjectStore, StorageFault } from '../buckets/objects.ts';
import { openBucket } from '../buckets/opening.operations.ts';
import { bucketDefinition } from '../buckets/operations.ts';
import { withKey } from './keys.operations.ts';
import { MOST_CONTENT, type PieceHead, pieceStart, sealPiece } from './sealed-piece.ts';

// How pieces of recordings come into their bucket.

export const NOT_RECORDED = 'the connection is not one that this worker records';

/** A recording that goes on, and where its files lie. */
export interface Open {
  recording: SessionRecordingRow;
  bucket: Resource<BucketBody>;
  objects: ObjectStore;
}

export async function requireOpen(
  app: App,
  recording: SessionRecordingRow | undefined,
): Promise<Open> {
  if (recording?.state !== 'started') {
    throw new Failure('forbidden', NOT_RECORDED);
  }
  const bucket = await findResource(app.db, recording.bucket_id);
  if (!isOf(bucketDefinition, bucket)) {
    throw new Failure('unavailable', 'the storage bucket of the recording is gone');
  }
  return { recording, bucket, objects: openBucket(app, bucket) };
}

export function newFile(given: {
  id: string;
  recording: SessionRecordingRow;
  connection_recording_id: string;
  connection_id: string;
  worker_id: string;
  now: number;
}): RecordingFileRow {
  const { id, recording, now, ...rest } = given;
  const start = pieceStart({ recording_id: recording.id, id });
  return {
    id,
    recording_id: recording.id,
    ...rest,
    pieces: start.pieces,
    head: start.hash,
    bytes_up: 0,
    bytes_down: 0,
    start_ms: now,
    updated_ms: now,
    end_ms: null,
    body: '',
  };
}

/** Lines at the end of a file, in as many pieces as they take. */
export async function appendLong(
  app: App,
  open: Open,
  file: RecordingFileRow,
  lines: readonly Uint8Array[],
  is_last: boolean,
): Promise<PieceHead> {
  const all = Buffer.concat(lines);
  let head: PieceHead = { pieces: file.pieces, hash: file.head };
  for (let at = 0; at < all.length; at += MOST_CONTENT) {
    const content = all.subarray(at, at + MOST_CONTENT);
    const before = { ...file, pieces: head.pieces, head: head.hash };
    head = await append(app, open, before, content, is_last && at + MOST_CONTENT >= all.length);
  }
  return head;
}

/** Seals the next piece of a file and writes it. @throws Failure `unavailable` where it cannot be written */
export function append(
  app: App,
  { recording, objects }: Open,
  file: Pick<RecordingFileRow, 'id' | 'recording_id' | 'pieces' | 'head'>,
  content: Uint8Array,
  is_last: boolean,
): Promise<PieceHead> {
  if (content.length > MOST_CONTENT) throw new Failure('invalid', 'a piece has at most 1 MiB');
  return withKey(app, recording, async (key) => {
    const nonce = app.randomBytes(NONCE_LENGTH);
    const before: PieceHead = { pieces: file.pieces, hash: file.head };
    const { bytes, head } = sealPiece(file, before, { key, nonce, content, is_last });
    try {
      await objects.append(`${recording.id}/${file.id}`, file.pieces, bytes);
    } catch (cause) {
      if (!(cause instanceof StorageFault)) throw cause;
      app.log.error({ err: cause, recording_id: recording.id }, 'a recording cannot be written');
      throw new Failure('unavailable', 'the recording cannot be written', { cause });
    }
    return head;
  });
}
