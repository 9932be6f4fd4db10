import type { App } from '../../../app/app.ts';
import { type EnvelopeContext, KEY_LENGTH } from '../../../barrier/envelope.ts';
import type { SessionRecordingRow } from '../../../store/tables.ts';

// Each recording has a data key of its own, which is gone with its row: what is left in a bucket then is noise.

const placeOf = (row: string): EnvelopeContext => ({
  table: 'session_recording',
  column: 'key_sealed',
  row,
});

/** The sealed data key of a new recording. */
export function newRecordingKey(app: App, recording_id: string): Uint8Array {
  const key = app.randomBytes(KEY_LENGTH);
  const sealed = app.barrier.encrypt('recording', placeOf(recording_id), key);
  key.fill(0);
  return sealed;
}

/** Does something with the data key of a recording, and wipes it. */
export async function withKey<T>(
  app: App,
  { id, key_sealed }: Pick<SessionRecordingRow, 'id' | 'key_sealed'>,
  use: (key: Uint8Array) => Promise<T>,
): Promise<T> {
  const key = openKey(app, { id, key_sealed });
  try {
    return await use(key);
  } finally {
    key.fill(0);
  }
}

/** As {@link withKey}, for whoever wipes it. */
export function openKey(
  app: App,
  { id, key_sealed }: Pick<SessionRecordingRow, 'id' | 'key_sealed'>,
): Uint8Array {
  return app.barrier.decrypt('recording', placeOf(id), key_sealed);
}
