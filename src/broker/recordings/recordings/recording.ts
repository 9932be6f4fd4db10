import { z } from 'zod';
import { omitEmpty } from '../../../core/omit-empty.ts';
import type { RecordingFileRow, SessionRecordingRow } from '../../../store/tables.ts';
import { scopeSummary } from '../../resource/common-fields.ts';
import type { Kind, ShownOf } from '../../resource/handler.ts';
import { formatTime } from '../../resource/resource.ts';
import type { RecordedChannel } from './step.ts';

/** What a channel can be read as. */
export const ASCIICAST = 'application/x-asciicast';

const bytes = z.string().describe('As text, as clients of this API read it.');
const about = {
  bytes_up: bytes,
  bytes_down: bytes,
  created_time: z.string(),
  updated_time: z.string(),
  start_time: z.string(),
  end_time: z.string().optional(),
  duration: z.string().optional().describe('In seconds, e.g. `12.5s`.'),
};

const channelRecording = z
  .object({
    id: z.string(),
    ...about,
    mime_types: z.array(z.string()),
    attributes: z.object({
      type: z.string().describe('As it was opened, e.g. `session`.'),
      program: z.enum(['shell', 'exec', 'subsystem', 'none']),
      command: z.string().optional().describe('Of `exec`, or the name of the subsystem.'),
      has_pty: z.boolean().optional(),
    }),
  })
  .partial({ bytes_up: true, bytes_down: true });

const connectionRecording = z
  .object({
    id: z.string(),
    connection_id: z.string(),
    ...about,
    channel_recordings: z.array(channelRecording).optional(),
  })
  .partial({ bytes_up: true, bytes_down: true });

const named = {
  id: z.string(),
  name: z.string().optional(),
  description: z.string().optional(),
};
const purposes = z.array(z.enum(['brokered', 'injected_application']));
const credentialStore = z.object({ id: z.string() });

/** Who recorded whom, as it was when the session was made. */
const createTimeValues = z.object({
  user: z.object({ ...named, scope: scopeSummary }).optional(),
  target: z.object({
    ...named,
    scope: scopeSummary,
    type: z.string(),
    session_max_seconds: z.int(),
    session_connection_limit: z.int(),
    worker_filter: z.string().optional(),
    egress_worker_filter: z.string().optional(),
    attributes: z.object({
      default_port: z.int().optional(),
      default_client_port: z.int().optional(),
    }),
  }),
  host: z.object({ ...named, type: z.string() }).optional(),
  credentials: z
    .array(z.object({ ...named, type: z.string(), purposes, credential_store: credentialStore }))
    .optional(),
  credential_libraries: z
    .array(z.object({ ...named, type: z.string(), purposes, credential_store: credentialStore }))
    .optional(),
});
export type CreateTimeValues = z.output<typeof createTimeValues>;

export const recordingShown = {
  session_id: z.string(),
  storage_bucket_id: z.string(),
  bytes_up: bytes,
  bytes_down: bytes,
  start_time: z.string().describe('Of its first connection.'),
  end_time: z.string(),
  duration: z.string().describe('In seconds, e.g. `12.5s`.'),
  type: z.string().describe('Of the target.'),
  state: z
    .enum(['started', 'available', 'unknown'])
    .describe('`unknown`: it was not ended as it should have been.'),
  error_details: z.string().describe('Of `unknown`.'),
  mime_types: z.array(z.string()),
  endpoint: z.string(),
  connection_recordings: z
    .array(connectionRecording)
    .describe('Not in lists. Of more than 10000 connections and channels the first.'),
  create_time_values: createTimeValues.describe('Not in lists.'),
  retain_until: z.string().describe('It cannot be deleted before.'),
  delete_after: z.string().describe('When it is deleted.'),
};

export interface RecordingKind extends Kind {
  shown: typeof recordingShown;
}

type Shown = ShownOf<RecordingKind>;
type ShownConnection = NonNullable<Shown['connection_recordings']>[number];
type ShownChannel = NonNullable<ShownConnection['channel_recordings']>[number];

/** A longer command is told by its beginning; its file has it whole. */
const MOST_COMMAND = 1_000;

/** What is kept of a channel besides its file. */
export const channelBody = (channel: RecordedChannel): RecordedChannel => ({
  ...channel,
  command: channel.command.slice(0, MOST_COMMAND),
});

export const isConnection = (file: Pick<RecordingFileRow, 'id' | 'connection_recording_id'>) =>
  file.id === file.connection_recording_id;

const durationOf = (start_ms: number, end_ms: number | null): string | undefined =>
  end_ms === null ? undefined : `${Math.max(0, end_ms - start_ms) / 1000}s`;

function describeFile(file: RecordingFileRow) {
  const { start_ms, end_ms } = file;
  const duration = durationOf(start_ms, end_ms);
  return {
    id: file.id,
    // 0 is left out, as clients take it.
    ...omitEmpty({
      bytes_up: file.bytes_up === 0 ? '' : String(file.bytes_up),
      bytes_down: file.bytes_down === 0 ? '' : String(file.bytes_down),
    }),
    created_time: formatTime(start_ms),
    updated_time: formatTime(file.updated_ms),
    start_time: formatTime(start_ms),
    ...(end_ms === null ? {} : { end_time: formatTime(end_ms) }),
    ...(duration === undefined ? {} : { duration }),
  };
}

function describeChannel(file: RecordingFileRow): ShownChannel {
  const { type, program, command, has_pty }: RecordedChannel = JSON.parse(file.body);
  return {
    ...describeFile(file),
    mime_types: [ASCIICAST],
    attributes: { type, program, ...omitEmpty({ command, has_pty }) },
  };
}

/** The connections of a recording with their channels, in the order in which they began. */
export function describeFiles(files: readonly RecordingFileRow[]): ShownConnection[] {
  const channels = Map.groupBy(
    files.filter((file) => !isConnection(file)),
    ({ connection_recording_id }) => connection_recording_id,
  );
  return files.filter(isConnection).map((connection) => {
    const own = channels.get(connection.id);
    return {
      ...describeFile(connection),
      connection_id: connection.connection_id,
      ...(own ? { channel_recordings: own.map(describeChannel) } : {}),
    };
  });
}

/** Connections and channels that are shown of a recording. */
export const MOST_SHOWN = 10_000;

/** What is shown of one recording, and not in lists. */
export interface RecordedParts {
  /** The first {@link MOST_SHOWN}. */
  files: readonly RecordingFileRow[];
  /** Of all of them. */
  bytes_up: number;
  bytes_down: number;
}

/** What a recording shows besides the common fields. @param parts absent in lists */
export function describeRecording(
  row: SessionRecordingRow,
  type: string,
  parts?: RecordedParts,
): Shown {
  const { start_ms, end_ms, retain_until_ms, delete_after_ms } = row;
  const sum = (of: 'bytes_up' | 'bytes_down'): string => String(parts?.[of] || '');
  const values: CreateTimeValues = JSON.parse(row.facts);
  return omitEmpty({
    session_id: row.session_id,
    storage_bucket_id: row.bucket_id,
    bytes_up: sum('bytes_up'),
    bytes_down: sum('bytes_down'),
    start_time: start_ms === null ? '' : formatTime(start_ms),
    end_time: end_ms === null ? '' : formatTime(end_ms),
    duration: start_ms === null ? undefined : durationOf(start_ms, end_ms),
    type,
    state: row.state as 'started' | 'available' | 'unknown',
    error_details: row.error_details,
    mime_types: parts ? [ASCIICAST] : [],
    endpoint: row.endpoint,
    connection_recordings: parts ? describeFiles(parts.files) : [],
    create_time_values: parts ? values : undefined,
    retain_until: retain_until_ms === 0 ? '' : formatTime(retain_until_ms),
    delete_after: delete_after_ms === null ? '' : formatTime(delete_after_ms),
  });
}
