import type { Migration } from '../migration.ts';

/** Channels are looked for by their connection, of which a session may have had thousands. */
export const recordedChannels: Migration = {
  number: 118,
  name: 'recorded-channels',
  up: () => [
    'create index recording_file_channels on recording_file (connection_recording_id, start_ms, id)',
  ],
};
