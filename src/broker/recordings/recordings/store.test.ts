import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../../../test/support/engines.ts';
import type { RecordingFileRow, SessionRecordingRow } from '../../../store/tables.ts';
import { newResource } from '../../resource/resource.ts';
import { insertResource } from '../../resource/store.ts';
import { hasRecordingsIn } from '../buckets/store.ts';
import {
  findFile,
  findFileOfConnection,
  insertFile,
  listChannels,
  listFiles,
  listSomeChannels,
  savePiece,
  sumTraffic,
} from './files.store.ts';
import {
  beginDeleting,
  deleteRecording,
  endRecording,
  findRecordingOfSession,
  forgetRecordingsIn,
  hasRetained,
  insertRecording,
  listDueToDelete,
  listEnded,
  listHalfDeleted,
  listRecordings,
  noteChange,
  noteStart,
  saveRetention,
} from './store.ts';

const recording = (id: string, more: Partial<SessionRecordingRow> = {}): SessionRecordingRow => ({
  id,
  session_id: `s_${id}`,
  bucket_id: 'sb_1',
  org_id: 'o_1',
  state: 'started',
  error_details: '',
  endpoint: 'ssh://a:22',
  start_ms: null,
  end_ms: null,
  retain_until_ms: 0,
  delete_after_ms: null,
  deleting_ms: null,
  keeps_input: 0,
  key_sealed: new Uint8Array([1]),
  facts: '{}',
  ...more,
});

const file = (id: string, more: Partial<RecordingFileRow> = {}): RecordingFileRow => ({
  id,
  recording_id: 'sr_1',
  connection_recording_id: 'cr_1',
  connection_id: 'sc_1',
  worker_id: 'w_1',
  pieces: 1,
  head: new Uint8Array([1]),
  bytes_up: 0,
  bytes_down: 0,
  start_ms: 5,
  updated_ms: 5,
  end_ms: null,
  body: '',
  ...more,
});

const FIRST = { ms: -1, id: '' };

const row = (id: string) =>
  newResource({
    id,
    type: 'session-recording',
    subtype: 'ssh',
    scope_id: 'o_1',
    created_ms: 1,
    body: {},
  });

eachEngine('recordings', (open) => {
  test('a recording goes from its beginning to its end, and is removed once nothing retains it', async () => {
    const store = await open();
    const { db } = store;
    await store.commit([insertResource(row('sr_1')), insertRecording(recording('sr_1'))]);
    await assert.rejects(
      store.commit([insertRecording(recording('sr_2', { session_id: 's_sr_1' }))]),
    );
    await store.commit([noteStart('sr_1', 10)]);
    await store.commit([noteStart('sr_1', 20), noteChange('sr_1', 20)]);
    assert.equal((await findRecordingOfSession(db, 's_sr_1'))?.start_ms, 10);
    assert.deepEqual(
      (await listEnded(db, 9)).map(({ id }) => id),
      ['sr_1'],
    );
    assert.ok(await hasRetained(db, 30, 'o_1'));
    await assert.rejects(store.commit([beginDeleting('sr_1', 30)]));
    const end = { state: 'available', error_details: '', start_ms: 10, end_ms: 30 } as const;
    await store.commit([
      endRecording('sr_1', { ...end, retain_until_ms: 50, delete_after_ms: 60 }),
    ]);
    assert.deepEqual(await listEnded(db, 9), []);
    await assert.rejects(store.commit([beginDeleting('sr_1', 49)]));
    await assert.rejects(store.commit(forgetRecordingsIn(49, 'o_1')));
    const due = (now: number) => listDueToDelete(db, now, FIRST, 9);
    const half = (now: number) => listHalfDeleted(db, now, FIRST, 9);
    assert.deepEqual(await due(59), []);
    assert.deepEqual(await due(60), [{ id: 'sr_1', bucket_id: 'sb_1', ms: 60 }]);
    assert.deepEqual(await listDueToDelete(db, 60, { ms: 60, id: 'sr_1' }, 9), []);
    assert.deepEqual(await half(60), []);
    await store.commit([saveRetention('sr_1', { retain_until_ms: 0, delete_after_ms: null })]);
    assert.deepEqual(await due(60), []);
    await assert.rejects(store.commit(deleteRecording('sr_1')));
    await store.commit([beginDeleting('sr_1', 60)]);
    await assert.rejects(
      store.commit([saveRetention('sr_1', { retain_until_ms: 99, delete_after_ms: null })]),
    );
    assert.deepEqual(await due(61), []);
    assert.deepEqual(await half(59), []);
    assert.deepEqual(await half(60), [{ id: 'sr_1', bucket_id: 'sb_1', ms: 60 }]);
    assert.deepEqual(await listHalfDeleted(db, 61, { ms: 60, id: 'sr_1' }, 9), []);
    assert.ok(await hasRecordingsIn(db, 'sb_1'));
    await store.commit([insertFile(file('cr_1')), ...deleteRecording('sr_1')]);
    assert.equal(await hasRecordingsIn(db, 'sb_1'), false);
    assert.equal(await findFile(db, 'cr_1'), undefined);
  });

  test('the channels of one connection are listed without those of others', async () => {
    const store = await open();
    const { db } = store;
    const other = { connection_recording_id: 'cr_2', connection_id: 'sc_2' };
    await store.commit([
      insertFile(file('cr_1', { bytes_up: 1, bytes_down: 2 })),
      insertFile(file('cr_2', { ...other, bytes_up: 10, bytes_down: 20 })),
      insertFile(file('chr_1', { start_ms: 7 })),
      insertFile(file('chr_2', { ...other, start_ms: 6 })),
      insertFile(file('chr_3', { start_ms: 6, bytes_up: 100 })),
    ]);
    const ids = (files: readonly RecordingFileRow[]) => files.map(({ id }) => id);
    assert.deepEqual(ids(await listChannels(db, 'cr_1')), ['chr_3', 'chr_1']);
    assert.deepEqual(ids(await listChannels(db, 'cr_1', { start_ms: 6, id: 'chr_3' })), ['chr_1']);
    assert.deepEqual(ids(await listSomeChannels(db, 'sr_1', 2)), ['chr_2', 'chr_3']);
    assert.deepEqual(await listSomeChannels(db, 'sr_2', 2), []);
    assert.deepEqual(await sumTraffic(db, 'sr_1'), { bytes_up: 11, bytes_down: 22 });
    assert.deepEqual(await sumTraffic(db, 'sr_2'), { bytes_up: 0, bytes_down: 0 });
  });

  test('a file has one next piece, and none after its last', async () => {
    const store = await open();
    const { db } = store;
    await store.commit([
      insertRecording(recording('sr_1')),
      insertFile(file('cr_1')),
      insertFile(file('chr_1', { start_ms: 6 })),
    ]);
    const head = { pieces: 2, hash: new Uint8Array([2]) };
    const more = { bytes_up: 1, bytes_down: 2, updated_ms: 9, end_ms: null };
    const first = file('chr_1');
    await store.commit([savePiece(first, head, more)]);
    await assert.rejects(store.commit([savePiece(first, head, more)]));
    await store.commit([
      savePiece({ ...first, pieces: 2 }, { ...head, pieces: 3 }, { ...more, end_ms: 9 }),
    ]);
    await assert.rejects(
      store.commit([savePiece({ ...first, pieces: 3 }, { ...head, pieces: 4 }, more)]),
    );
    assert.equal((await findFile(db, 'chr_1'))?.pieces, 3);
    assert.equal((await findFileOfConnection(db, 'sc_1'))?.id, 'cr_1');
    await assert.rejects(
      store.commit([insertFile(file('cr_2', { connection_recording_id: 'cr_2' }))]),
      'a connection is recorded once',
    );
    const ids = (files: readonly RecordingFileRow[]) => files.map(({ id }) => id);
    assert.deepEqual(ids(await listFiles(db, 'sr_1')), ['cr_1', 'chr_1']);
    assert.deepEqual(ids(await listFiles(db, 'sr_1', { start_ms: 5, id: 'cr_1' }, 1)), ['chr_1']);
    assert.deepEqual([...(await listRecordings(db, ['sr_1', 'sr_9'])).keys()], ['sr_1']);
  });

  test('recordings of a scope go with it', async () => {
    const store = await open();
    await store.commit([
      insertResource(row('sr_1')),
      insertRecording(recording('sr_1', { state: 'available' })),
      insertRecording(recording('sr_2', { state: 'available' })),
      insertFile(file('cr_1')),
    ]);
    await store.commit(forgetRecordingsIn(9, 'o_1'));
    assert.deepEqual([...(await listRecordings(store.db, ['sr_1', 'sr_2'])).keys()], ['sr_2']);
    assert.equal(await findFile(store.db, 'cr_1'), undefined);
  });
});
