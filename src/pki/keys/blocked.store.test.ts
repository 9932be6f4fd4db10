import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { connectTo, eachEngine, eachPlace } from '../../../test/support/engines.ts';
import { isConflict } from '../../core/failure.ts';
import { preparedHold } from '../../store/held.ts';
import type { Store } from '../../store/store.ts';
import { NO_DEFAULTS } from '../mount-state/state.ts';
import { saveDefaults } from '../mount-state/store.ts';
import { blockKey, findBlockedKey, holdUnblockedKey } from './blocked.store.ts';

const KEY = { mount_id: 'm', key_sha256: 'ab' };
const BLOCKED = { ...KEY, serial: '0a', blocked_at_ms: 1 };

/** Two mounts that have had an issuer. */
async function addMounts(store: Store): Promise<void> {
  for (const mount_id of ['m', 'other']) await store.commit(saveDefaults(mount_id, NO_DEFAULTS));
}

eachEngine('blocked keys', (open) => {
  test('are found by their hash on their own mount, and stay as they were first blocked', async () => {
    const store = await open();
    await store.commit(blockKey(BLOCKED));
    await store.commit(blockKey({ ...BLOCKED, serial: '0b', blocked_at_ms: 2 }));
    const found = await findBlockedKey(store.db, 'm', 'ab');
    assert.deepEqual(found, { serial: '0a', blocked_at_ms: 1 });
    assert.equal(await findBlockedKey(store.db, 'other', 'ab'), undefined);
    assert.equal(await findBlockedKey(store.db, 'm', 'cd'), undefined);
  });

  test('refuse what is written for them, and nothing of another key or mount', async () => {
    const store = await open();
    await addMounts(store);
    await store.commit([holdUnblockedKey(KEY)]);
    await store.commit(blockKey(BLOCKED));
    await assert.rejects(store.commit([holdUnblockedKey(KEY)]), isConflict);
    await store.commit([holdUnblockedKey({ ...KEY, key_sha256: 'abc' })]);
    await store.commit([holdUnblockedKey({ ...KEY, mount_id: 'other' })]);
  });
});

/** As what holds the issuer of a certificate does. */
const share = preparedHold<{ mount_id: string }>((from, { mount_id }) =>
  from.selectFrom('pki_authority').select('mount_id').where('mount_id', '=', mount_id).forShare(),
);
const certify = () => [share(KEY), holdUnblockedKey(KEY)];

eachPlace('a key that another node is about to block', (newPlace, engine) => {
  if (engine !== 'postgres') return;

  /** A store with the mounts, and another node that has taken one of them. */
  async function openTaken(t: TestContext, how: 'update' | 'share') {
    const place = await newPlace();
    const store = await place.open();
    await addMounts(store);
    const other = await connectTo(place);
    t.after(() => other.end());
    await other.query('begin');
    await other.query(`select mount_id from pki_authority where mount_id = 'm' for ${how}`);
    return { store, other };
  }

  for (const [end, refused] of [
    ['commit', true],
    ['rollback', false],
  ] as const) {
    test(`is waited for, and what certifies it is ${refused ? 'refused' : 'written'} after its ${end}`, async (t) => {
      const { store, other } = await openTaken(t, 'update');
      await other.query("insert into pki_blocked_key values ('m', 'ab', '0a', 1)");
      const made = store.commit(certify()).then(() => false, isConflict);
      await other.query(end);
      assert.equal(await made, refused);
    });
  }

  test('is blocked once what certifies it is durable', async (t) => {
    const { store, other } = await openTaken(t, 'share');
    let isBlocked = false;
    const blocking = store.commit(blockKey(BLOCKED)).then(() => {
      isBlocked = true;
    });
    const { rows } = await other.query('select * from pki_blocked_key');
    assert.deepEqual([rows, isBlocked], [[], false]);
    await other.query('commit');
    await blocking;
    await assert.rejects(store.commit(certify()), isConflict);
  });
});
