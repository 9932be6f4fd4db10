import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../../../test/support/engines.ts';
import {
  deleteMetadata,
  findMetadata,
  insertMetadata,
  listEndedMetadata,
  listMetadataSerials,
} from './store.ts';

const metadata = (serial: string, not_after: number, mount_id = 'm') =>
  insertMetadata({
    mount_id,
    serial,
    issuer_id: 'i',
    role: 'web',
    not_after,
    data: Uint8Array.of(0, 255, 1),
  });

eachEngine('metadata of certificates', (open) => {
  test('is read by its serial number on its own mount, listed in order, and deleted', async () => {
    const store = await open();
    await store.commit([metadata('0b', 20), metadata('0a', 10), metadata('0a', 10, 'other')]);
    const found = await findMetadata(store.db, 'm', '0a');
    assert.deepEqual(found && [...found.data], [0, 255, 1]);
    assert.equal(found?.not_after, 10);
    assert.equal(await findMetadata(store.db, 'm', '0c'), undefined);
    const page = { mount_id: 'm', after: '', limit: 10 };
    assert.deepEqual(await listMetadataSerials(store.db, page), ['0a', '0b']);
    await store.commit([deleteMetadata({ mount_id: 'm', serial: '0a' })]);
    await store.commit([deleteMetadata({ mount_id: 'm', serial: '0a' })]);
    assert.deepEqual(await listMetadataSerials(store.db, page), ['0b']);
    assert.ok(await findMetadata(store.db, 'other', '0a'));
  });

  test('that has ended is found in the order of its ends, page by page', async () => {
    const store = await open();
    await store.commit(
      [
        ['0c', 10],
        ['0a', 20],
        ['0b', 10],
        ['0d', 30],
      ].map(([serial, end]) => metadata(String(serial), Number(end))),
    );
    const ended = { mount_id: 'm', before: 30, limit: 2 };
    const first = await listEndedMetadata(store.db, ended);
    assert.deepEqual(
      first.map(({ serial }) => serial),
      ['0b', '0c'],
    );
    const rest = await listEndedMetadata(store.db, ended, first.at(-1));
    assert.deepEqual(rest, [{ not_after: 20, serial: '0a' }]);
  });

  test('of one serial number is there once', async () => {
    const store = await open();
    await store.commit([metadata('0a', 10)]);
    await assert.rejects(store.commit([metadata('0a', 10)]), { kind: 'conflict' });
  });
});
