import type { App } from '../../../app/app.ts';
import type { Caller } from '../../../app/caller.ts';
import { Failure, isConflict } from '../../../core/failure.ts';
import type { RecordingFileRow } from '../../../store/tables.ts';
import type { Effect } from '../../../store/write.ts';
import { newResourceId } from '../../resource/ids.ts';
import { listConnectionsById } from '../../sessions/connections/store.ts';
import {
  append,
  appendLong,
  NOT_RECORDED,
  newFile,
  type Open,
  requireOpen,
} from './appending.operations.ts';
import { findFile, findFileOfConnection, insertFile, savePiece } from './files.store.ts';
import { channelsOf } from './reading.operations.ts';
import { channelBody, isConnection } from './recording.ts';
import type { ChannelPiece, Recorded, RecordedChannel, RecordStep } from './step.ts';
import { findRecording, findRecordingOfSession, noteStart } from './store.ts';

// What the worker that carries a recorded session tells of it, step by step. A piece is in the bucket before the row
// says so, and the row says so before the worker hears of it: what flowed on is in the recording.

/** How long bytes may wait for others: an S3 server is asked for each piece, and takes money for it. */
const FLUSH_MS = { local: 500, aws: 3_000, minio: 1_500 };
/** Channels that an index tells of in one go: a connection that forwards ports can have any number. */
const INDEXED_AT_ONCE = 1_000;

/** @throws Failure for what is not recorded, and must not flow then */
export async function recordStep(
  app: App,
  caller: Caller,
  worker_id: string,
  step: RecordStep,
): Promise<Recorded> {
  switch (step.step) {
    case 'begin':
      return beginConnection(app, caller, worker_id, step.connection_id);
    case 'open':
      return openChannel(app, caller, worker_id, step);
    case 'write':
      return writePiece(app, worker_id, step);
    case 'close':
      return closeChannel(app, caller, worker_id, step);
    case 'end':
      return endConnection(app, caller, worker_id, step);
  }
}

async function requireFile(
  app: App,
  worker_id: string,
  id: string,
): Promise<Open & { file: RecordingFileRow }> {
  const file = await findFile(app.db, id);
  if (!file || file.worker_id !== worker_id || file.end_ms !== null) {
    throw new Failure('forbidden', NOT_RECORDED);
  }
  const open = await requireOpen(app, await findRecording(app.db, file.recording_id));
  return { ...open, file };
}

const recorded = (id: string, { recording, bucket }: Open): Recorded => ({
  id,
  keeps_input: recording.keeps_input === 1,
  flush_ms: FLUSH_MS[bucket.body.plugin],
});

async function beginConnection(
  app: App,
  caller: Caller,
  worker_id: string,
  connection_id: string,
): Promise<Recorded> {
  const [connection] = await listConnectionsById(app.db, [connection_id]);
  if (!connection || connection.worker_id !== worker_id || connection.status === 'closed') {
    throw new Failure('forbidden', NOT_RECORDED);
  }
  if (await findFileOfConnection(app.db, connection_id)) {
    throw new Failure('forbidden', NOT_RECORDED);
  }
  const { session_id } = connection;
  const open = await requireOpen(app, await findRecordingOfSession(app.db, session_id));
  const { recording } = open;
  const id = newResourceId('cr', app.randomBytes(32));
  const now = app.now();
  const file = newFile({
    id,
    recording,
    connection_recording_id: id,
    connection_id,
    worker_id,
    now,
  });
  const content = line({
    version: 1,
    recording_id: recording.id,
    connection_recording_id: id,
    session_id,
    connection_id,
    worker_id,
    endpoint: recording.endpoint,
    started: new Date(now).toISOString(),
    ...JSON.parse(recording.facts),
  });
  const head = await append(app, open, file, content, false);
  Object.assign(caller.record.outcome, { session_id, connection_id, recording_id: recording.id });
  await commit(app, caller, [
    noteStart(recording.id, now),
    insertFile({ ...file, pieces: head.pieces, head: head.hash }),
  ]);
  return recorded(id, open);
}

const line = (value: object): Uint8Array => Buffer.from(`${JSON.stringify(value)}\n`);

async function openChannel(
  app: App,
  caller: Caller,
  worker_id: string,
  step: { id: string; channel: RecordedChannel; bytes: Uint8Array },
): Promise<Recorded> {
  const open = await requireFile(app, worker_id, step.id);
  const { recording, file: connection } = open;
  if (!isConnection(connection)) throw new Failure('forbidden', NOT_RECORDED);
  const id = newResourceId('chr', app.randomBytes(32));
  const { connection_id } = connection;
  const now = app.now();
  const file = newFile({
    id,
    recording,
    connection_recording_id: connection.id,
    connection_id,
    worker_id,
    now,
  });
  const head = await append(app, open, file, step.bytes, false);
  const body = channelBody(step.channel);
  Object.assign(caller.record.outcome, { connection_id, recording_id: recording.id, channel: id });
  await commit(app, caller, [
    insertFile({ ...file, pieces: head.pieces, head: head.hash, body: JSON.stringify(body) }),
  ]);
  return recorded(id, open);
}

async function writePiece(app: App, worker_id: string, piece: ChannelPiece): Promise<Recorded> {
  const open = await requireChannel(app, worker_id, piece);
  const { file } = open;
  const head = await append(app, open, file, piece.bytes, false);
  const { bytes_up, bytes_down } = piece;
  const more = { bytes_up, bytes_down, updated_ms: app.now(), end_ms: null };
  // No record of the trail: nothing follows from it but what the recording itself tells.
  await app.store.commit([savePiece(file, head, more)]).catch(refuseLate);
  return recorded(file.id, open);
}

async function requireChannel(app: App, worker_id: string, { id, at }: ChannelPiece) {
  const open = await requireFile(app, worker_id, id);
  if (isConnection(open.file) || open.file.pieces !== at) {
    throw new Failure('forbidden', 'the piece does not follow what was recorded last');
  }
  return open;
}

async function closeChannel(
  app: App,
  caller: Caller,
  worker_id: string,
  piece: ChannelPiece,
): Promise<Recorded> {
  const open = await requireChannel(app, worker_id, piece);
  const { file } = open;
  const head = await append(app, open, file, piece.bytes, true);
  const { bytes_up, bytes_down } = piece;
  const now = app.now();
  const { connection_id, recording_id } = file;
  Object.assign(caller.record.outcome, { connection_id, recording_id, channel: file.id });
  await commit(app, caller, [
    savePiece(file, head, { bytes_up, bytes_down, updated_ms: now, end_ms: now }),
  ]);
  return recorded(file.id, open);
}

async function endConnection(
  app: App,
  caller: Caller,
  worker_id: string,
  { id, reason }: { id: string; reason: string },
): Promise<Recorded> {
  const open = await requireFile(app, worker_id, id);
  let { file } = open;
  if (!isConnection(file)) throw new Failure('forbidden', NOT_RECORDED);
  const now = app.now();
  const bytes = { bytes_up: 0, bytes_down: 0 };
  let lines: Uint8Array[] = [];
  for await (const channel of channelsOf(app, id)) {
    bytes.bytes_up += channel.bytes_up;
    bytes.bytes_down += channel.bytes_down;
    lines.push(indexLine(channel));
    if (lines.length < INDEXED_AT_ONCE) continue;
    const { pieces, hash } = await appendLong(app, open, file, lines, false);
    const more = { bytes_up: 0, bytes_down: 0, updated_ms: app.now(), end_ms: null };
    await app.store.commit([savePiece(file, { pieces, hash }, more)]).catch(refuseLate);
    file = { ...file, pieces, head: hash };
    lines = [];
  }
  lines.push(line({ ended: new Date(now).toISOString(), reason: reason.slice(0, 200), ...bytes }));
  const head = await appendLong(app, open, file, lines, true);
  const { connection_id, recording_id } = file;
  Object.assign(caller.record.outcome, { connection_id, recording_id });
  await commit(app, caller, [savePiece(file, head, { ...bytes, updated_ms: now, end_ms: now })]);
  return recorded(id, open);
}

/** What an index says of a channel: with its last hash, so that the index tells of a file that was cut. */
const indexLine = (channel: RecordingFileRow): Uint8Array =>
  line({
    channel_recording_id: channel.id,
    ...JSON.parse(channel.body),
    started: new Date(channel.start_ms).toISOString(),
    ...(channel.end_ms === null ? {} : { ended: new Date(channel.end_ms).toISOString() }),
    bytes_up: channel.bytes_up,
    bytes_down: channel.bytes_down,
    pieces: channel.pieces,
    sha256: Buffer.from(channel.head).toString('hex'),
  });

async function commit(app: App, caller: Caller, effects: readonly Effect[]): Promise<void> {
  await app.commit(caller, effects).catch(refuseLate);
}

function refuseLate(error: unknown): never {
  if (isConflict(error)) throw new Failure('forbidden', NOT_RECORDED);
  throw error;
}
