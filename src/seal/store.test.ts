import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../test/support/engines.ts';
import type { Seal } from './seal.ts';
import { findNextSeal, findSeal, insertSeal, replaceSeal, saveNextSeal } from './store.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

const OF_SHARES: Seal = {
  kind: 'shamir',
  shares: 3,
  threshold: 2,
  generation: 4,
  root_key_sealed: bytes(0, 255, 1),
  recovery_hash_sealed: null,
  share_hashes: bytes(7, 8),
  cluster_id: 'id',
  cluster_name: 'name',
  created_at: 1_800_000_000,
};
const OF_KEY_FILE: Seal = { ...OF_SHARES, kind: 'keyfile', recovery_hash_sealed: bytes(0, 9) };

eachEngine('a seal that is to follow', (open) => {
  for (const [what, seal] of [
    ['of shares', OF_SHARES],
    ['of a key file', OF_KEY_FILE],
  ] as const) {
    test(`${what} reads back as it will be in force, and follows no other`, async () => {
      const store = await open();
      await store.commit([insertSeal(seal)]);
      assert.equal(await findNextSeal(store.db, seal), undefined);
      const next = { ...seal, generation: 5, shares: 5, root_key_sealed: bytes(0, 254) };
      await store.commit([saveNextSeal({ ...next, threshold: 3 })]);
      await store.commit([saveNextSeal(next)]);
      const found = await findNextSeal(store.db, seal);
      assert.deepEqual(found, next);
      assert.equal(await findNextSeal(store.db, { ...seal, generation: 3 }), undefined);
      await store.commit([replaceSeal(found ?? seal)]);
      const stored = await findSeal(store.db);
      assert.ok(stored);
      assert.deepEqual(Uint8Array.from(stored.root_key_sealed), next.root_key_sealed);
      assert.equal(await findNextSeal(store.db, stored), undefined);
    });
  }
});
