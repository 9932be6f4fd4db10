import type { App } from '../../../app/app.ts';
import type { RecordingFileRow } from '../../../store/tables.ts';
import type { Effect } from '../../../store/write.ts';
import { removeResources, takeResources } from '../../resource/removals.store.ts';
import { findRetention, removeFiles } from './operations.ts';
import { filesOf } from './reading.operations.ts';
import { isConnection } from './recording.ts';
import {
  deleteRecording,
  endRecording,
  findRecording,
  listEnded,
  noteChange,
  type RecordingEnd,
} from './store.ts';

/** Plans the end of recordings whose sessions have ended. */
export async function planEnds(
  app: App,
  limit: number,
): Promise<{ effects: Effect[]; ended: string[] }> {
  const effects: Effect[] = [];
  const ended: string[] = [];
  for (const { id, org_id } of await listEnded(app.db, limit)) {
    effects.push(...(await planEnd(app, id, org_id)));
    ended.push(id);
  }
  return { effects, ended };
}

/** One whose files were all closed is there for whoever may read it; of others it is told why not. */
async function planEnd(app: App, id: string, org_id: string): Promise<Effect[]> {
  const now = app.now();
  let end_ms = 0;
  let open: RecordingFileRow | undefined;
  for await (const file of filesOf(app, id)) {
    if (file.end_ms === null) open ??= file;
    end_ms = Math.max(end_ms, file.end_ms ?? file.updated_ms);
  }
  if (end_ms === 0) end_ms = now;
  const what = open && isConnection(open) ? 'connection' : 'channel';
  const start_ms = (await findRecording(app.db, id))?.start_ms ?? null;
  const end: RecordingEnd = {
    state: open ? 'unknown' : 'available',
    error_details: open ? `the recording of ${what} ${open.id} was not closed` : '',
    start_ms,
    end_ms,
    ...(await findRetention(app, { org_id, end_ms })),
  };
  return [endRecording(id, end), noteChange(id, now)];
}

/** Removes the files of a recording that is due, and plans the removal of what is known of it. */
export async function planDeletion(app: App, id: string): Promise<Effect[]> {
  await removeFiles(app, id);
  return [...takeResources({ id }), ...deleteRecording(id), ...removeResources({ id }, app.now())];
}
