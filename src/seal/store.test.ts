import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../test/support/engines.ts';
import { columnTypes } from '../store/columns.ts';
import { replacedSeals } from '../store/migrations/0064-replaced-seals.ts';
import type { Seal } from './seal.ts';
import {
  deleteReplacedSeal,
  findNextSeal,
  findSeal,
  hasReplacedSeal,
  insertSeal,
  replaceSeal,
  saveNextSeal,
  saveWrappedSealKey,
} from './store.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

const OF_SHARES: Seal = {
  kind: 'shamir',
  shares: 3,
  threshold: 2,
  generation: 4,
  root_key_sealed: bytes(0, 255, 1),
  recovery_hash_sealed: null,
  share_hashes: bytes(7, 8),
  seal_key_wrapped: null,
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
      await store.commit([saveNextSeal(next)]);
      const found = await findNextSeal(store.db, seal);
      assert.deepEqual(found, next);
      assert.equal(await findNextSeal(store.db, { ...seal, generation: 3 }), undefined);
      await store.commit(replaceSeal(found ?? seal));
      const stored = await findSeal(store.db);
      assert.ok(stored);
      assert.deepEqual(Uint8Array.from(stored.root_key_sealed), next.root_key_sealed);
      assert.equal(await findNextSeal(store.db, stored), undefined);
    });
  }

  const one = { ...OF_SHARES, generation: 5, root_key_sealed: bytes(1) };
  const other = { ...OF_SHARES, generation: 5, root_key_sealed: bytes(2) };
  const strange = { ...OF_SHARES, generation: 5, root_key_sealed: bytes(3) };

  test('a seal key that was encrypted anew is kept in the place of the one that was read', async () => {
    const store = await open();
    const read = Uint8Array.of(1, 2);
    await store.commit([insertSeal({ ...OF_SHARES, kind: 'transit', seal_key_wrapped: read })]);
    await store.commit([saveWrappedSealKey(read, Uint8Array.of(3))]);
    const found = (await findSeal(store.db))?.seal_key_wrapped;
    assert.deepEqual(found && Uint8Array.from(found), Uint8Array.of(3));
    const late = store.commit([saveWrappedSealKey(read, Uint8Array.of(4))]);
    await assert.rejects(late, { kind: 'conflict' });
  });

  /** What is stored beside the seal in force, and whether a seal may take its place. */
  const PLACES: [
    what: string,
    stored: Seal | undefined,
    known: Seal | undefined,
    is_free: boolean,
  ][] = [
    ['nothing', undefined, undefined, true],
    ['nothing any more of what was known', undefined, other, true],
    ['itself', one, undefined, true],
    ['another', other, undefined, false],
    ['another, which is known', other, other, true],
    ['another than the one that is known', other, strange, false],
    ['one that was in force', { ...other, generation: 4 }, undefined, true],
  ];
  for (const [what, stored, known, is_free] of PLACES) {
    const verb = is_free ? 'takes' : 'does not take';
    test(`where ${what} is stored, a seal ${verb} that place, and ${is_free ? 'is' : 'is not'} put in force`, async () => {
      for (const effects of [[saveNextSeal(one, known)], replaceSeal(one, known)]) {
        const store = await open();
        await store.commit([insertSeal(OF_SHARES), ...(stored ? [saveNextSeal(stored)] : [])]);
        const done = store.commit(effects);
        if (is_free) await done;
        else await assert.rejects(done, { kind: 'conflict', message: /start over/ });
        const inForce = await findSeal(store.db);
        const isReplaced = is_free && effects.length > 1;
        assert.equal(inForce?.generation, isReplaced ? 5 : 4);
        const next = await findNextSeal(store.db, OF_SHARES);
        const expected = is_free ? one : stored;
        assert.deepEqual(next, isReplaced ? undefined : expected);
      }
    });
  }

  for (const { generation, is_replaced } of [
    { generation: 3, is_replaced: true },
    { generation: 4, is_replaced: true },
    { generation: 5, is_replaced: false },
  ]) {
    test(`generation ${generation} beside 4 is ${is_replaced ? 'one that was replaced, and deleted' : 'to follow, and stays'}`, async () => {
      const upgrade = replacedSeals
        .up(columnTypes('sqlite'))
        .map((sql) => ({ sql, parameters: [] }));
      for (const effects of [[deleteReplacedSeal(OF_SHARES)], upgrade]) {
        const store = await open();
        await store.commit([insertSeal(OF_SHARES), saveNextSeal({ ...one, generation })]);
        assert.equal(await hasReplacedSeal(store.db, OF_SHARES), is_replaced);
        await store.commit(effects);
        const left = await store.db.selectFrom('seal_next').select('generation').execute();
        assert.deepEqual(left, is_replaced ? [] : [{ generation }]);
      }
    });
  }
});
