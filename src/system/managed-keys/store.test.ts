import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../../test/support/engines.ts';
import { insertKey, listKeys } from '../../pki/mount-state/keys.store.ts';
import { columnTypes } from '../../store/columns.ts';
import { bumpConfigVersion } from '../../store/config-version.ts';
import { pssOfDevices } from '../../store/migrations/0106-pss-of-devices.ts';
import { type ManagedKey, MOST_MANAGED_KEYS } from './managed-key.ts';
import {
  deleteManagedKey,
  holdManagedKey,
  holdManagedKeyRoom,
  isManagedKeyUsed,
  listManagedKeys,
  saveManagedKey,
  savePssForm,
} from './store.ts';

const KEY: ManagedKey = {
  ...{ uuid: 'k-1', name: 'root', type: 'pkcs11', library: 'soft', slot: '1', token_label: '' },
  ...{ key_label: 'a', key_id: '0x01', mechanism: '0x1041', key_bits: 0, curve: 'P256' },
  ...{ force_rw_session: true, max_parallel: 1, allow_generate_key: true, allow_store_key: false },
  ...{ allow_replace_key: false, any_mount: false, usages: ['sign'] },
};
const PIN = Uint8Array.of(1, 0, 255);

eachEngine('managed keys', (open) => {
  test('one reads back as saved, and is written again only as it was read', async () => {
    const store = await open();
    await store.commit([saveManagedKey(KEY, PIN, undefined)]);
    const found = (await listManagedKeys(store.db)).get('k-1');
    assert.ok(found);
    const { pin_sealed, version, ...told } = found;
    assert.deepEqual(told, KEY);
    assert.deepEqual([Uint8Array.from(pin_sealed), version], [PIN, 1]);
    await store.commit([saveManagedKey({ ...KEY, usages: [] }, PIN, found)]);
    await assert.rejects(store.commit([saveManagedKey(KEY, PIN, found)]), { kind: 'conflict' });
    await assert.rejects(store.commit([deleteManagedKey(found)]), { kind: 'conflict' });
    const twin = saveManagedKey({ ...KEY, uuid: 'k-2' }, PIN, undefined);
    await assert.rejects(store.commit([twin]), { kind: 'conflict' }, 'a name is given once');
  });

  test('are a thousand at most, also of those that are made at once', async () => {
    const store = await open();
    const others = Array.from({ length: MOST_MANAGED_KEYS - 1 }, (_, at) =>
      saveManagedKey({ ...KEY, uuid: `o-${at}`, name: `o${at}` }, PIN, undefined),
    );
    await store.commit(others);
    const made = ['a', 'b', 'c'].map((name) => {
      const saved = saveManagedKey({ ...KEY, uuid: name, name }, PIN, undefined);
      return store.commit([saved, bumpConfigVersion(), holdManagedKeyRoom()]);
    });
    const ends = (await Promise.allSettled(made)).map(({ status }) => status);
    assert.deepEqual(ends.toSorted(), ['fulfilled', 'rejected', 'rejected']);
    assert.equal((await listManagedKeys(store.db)).size, MOST_MANAGED_KEYS);
  });

  test('what a key signs with is known of each key of a mount that stands for it', async () => {
    const store = await open();
    await store.commit([saveManagedKey(KEY, PIN, undefined)]);
    const key = { key_type: 'rsa' as const, key_bits: 2048, public_key: PIN };
    const taken = { ...key, id: 'a', name: '', managed_key_id: 'k-1', pss: 'PSS' as const };
    const none = new Uint8Array(0);
    const own = { ...key, id: 'b', name: '' };
    await store.commit([insertKey('m', taken, none), insertKey('m', own, none)]);
    const forms = async () => (await listKeys(store.db, 'm')).map(({ pss }) => pss);
    assert.deepEqual(await forms(), ['PSS', undefined]);
    await store.commit([savePssForm('k-1', 'SHA384WithRSAPSS')]);
    assert.deepEqual(await forms(), ['SHA384WithRSAPSS', undefined]);
    await store.commit([savePssForm('k-1', undefined)]);
    assert.deepEqual(await forms(), [undefined, undefined]);
  });

  test('of keys that were taken before, those of PSS are found by what their managed keys say', async () => {
    const store = await open();
    const none = new Uint8Array(0);
    for (const [uuid, mechanism] of [
      ['k-1', '0xd'],
      ['k-2', '0x1'],
    ] as const) {
      const managed = { ...KEY, uuid, name: uuid, mechanism };
      const key = { key_type: 'rsa' as const, key_bits: 2048, public_key: PIN, name: '' };
      const taken = insertKey('m', { ...key, id: uuid, managed_key_id: uuid }, none);
      await store.commit([saveManagedKey(managed, PIN, undefined), taken]);
    }
    const [, fill = ''] = pssOfDevices.up(columnTypes('sqlite'));
    await store.commit([{ sql: fill, parameters: [] }]);
    const forms = (await listKeys(store.db, 'm')).map(({ pss }) => pss);
    assert.deepEqual(forms, ['PSS', undefined]);
  });

  test('one that a key of a mount stands for stays, and none is taken that is not there', async () => {
    const store = await open();
    await store.commit([saveManagedKey(KEY, PIN, undefined)]);
    const found = (await listManagedKeys(store.db)).get('k-1');
    assert.ok(found);
    const taken = (managed_key_id: string, id: string) =>
      insertKey(
        'm',
        { ...{ id, name: '', key_type: 'ec', key_bits: 256 }, public_key: PIN, managed_key_id },
        new Uint8Array(0),
      );
    assert.equal(await isManagedKeyUsed(store.db, 'k-1'), false);
    await store.commit([taken('k-1', 'a')]);
    assert.equal(await isManagedKeyUsed(store.db, 'k-1'), true);
    await assert.rejects(store.commit([deleteManagedKey(found)]), { kind: 'conflict' });
    await store.commit([holdManagedKey(found)]);
    const other = holdManagedKey({ ...found, version: 2 });
    await assert.rejects(store.commit([other]), { kind: 'conflict' });
    await assert.rejects(store.commit([taken('k-none', 'b')]));
    assert.equal((await listManagedKeys(store.db)).size, 1);
  });
});
