import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../../test/support/engines.ts';
import { blockKey, findBlockedKey } from './blocked.store.ts';

eachEngine('blocked keys', (open) => {
  test('are found by their hash on their own mount, and stay as they were first blocked', async () => {
    const store = await open();
    const key = { mount_id: 'm', key_sha256: 'ab', serial: '0a', blocked_at_ms: 1 };
    await store.commit([blockKey(key)]);
    await store.commit([blockKey({ ...key, serial: '0b', blocked_at_ms: 2 })]);
    const found = await findBlockedKey(store.db, 'm', 'ab');
    assert.deepEqual(found, { serial: '0a', blocked_at_ms: 1 });
    assert.equal(await findBlockedKey(store.db, 'other', 'ab'), undefined);
    assert.equal(await findBlockedKey(store.db, 'm', 'cd'), undefined);
  });
});
