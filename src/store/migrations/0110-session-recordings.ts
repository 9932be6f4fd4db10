import type { Migration } from '../migration.ts';

/** Recordings of sessions: what is known of each, and how far its files go. */
export const sessionRecordings: Migration = {
  number: 110,
  name: 'session-recordings',
  up: (t) => [
    // Beside each row of type session-recording in `resource`. It outlives its session.
    `create table session_recording (
      id ${t.text} not null primary key,
      session_id ${t.text} not null,
      bucket_id ${t.text} not null,
      org_id ${t.text} not null,
      state ${t.text} not null,
      error_details ${t.text} not null,
      endpoint ${t.text} not null,
      start_ms ${t.integer},
      end_ms ${t.integer},
      retain_until_ms ${t.integer} not null,
      delete_after_ms ${t.integer},
      deleting_ms ${t.integer},
      keeps_input ${t.integer} not null,
      key_sealed ${t.bytes} not null,
      facts ${t.text} not null
    ${t.table}`,
    'create unique index session_recording_session on session_recording (session_id)',
    'create index session_recording_bucket on session_recording (bucket_id)',
    "create index session_recording_started on session_recording (id) where state = 'started'",
    'create index session_recording_due on session_recording (delete_after_ms) where delete_after_ms is not null',
    'create index session_recording_deleting on session_recording (deleting_ms) where deleting_ms is not null',

    // A connection's, which is an index of its channels, or a channel's.
    `create table recording_file (
      id ${t.text} not null primary key,
      recording_id ${t.text} not null,
      connection_recording_id ${t.text} not null,
      connection_id ${t.text} not null,
      worker_id ${t.text} not null,
      pieces ${t.integer} not null,
      head ${t.bytes} not null,
      bytes_up ${t.integer} not null,
      bytes_down ${t.integer} not null,
      start_ms ${t.integer} not null,
      updated_ms ${t.integer} not null,
      end_ms ${t.integer},
      body ${t.text} not null
    ${t.table}`,
    'create index recording_file_of on recording_file (recording_id, start_ms, id)',
    'create unique index recording_file_connection on recording_file (connection_id) where connection_recording_id = id',
  ],
};
