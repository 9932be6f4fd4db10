import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../test/support/engines.ts';
import { acquireLease, planLease, releaseLease, renewLease, requireLease } from './lease.ts';

const NOW = 1_800_000_000_000;
const wish = { name: 'pki/crl', holder: 'a', now_ms: NOW, ttl_ms: 30_000 };

const held = { name: 'pki/crl', holder: 'b', expires_at_ms: NOW + 1, fence: 7 };

const cases: [why: string, found: typeof held | undefined, fence: number | undefined][] = [
  ['a job that nobody has done is free', undefined, 1],
  ['a job is not free until the last millisecond of its holder is over', held, undefined],
  ['a job is free when that is over', { ...held, expires_at_ms: NOW }, 8],
  ['a released job is free', { ...held, expires_at_ms: 0 }, 8],
  ['a node takes over from itself, with a new number', { ...held, holder: 'a' }, 8],
];

for (const [why, found, fence] of cases) {
  test(why, () => {
    const plan = planLease(found, wish);
    assert.equal(plan.free ? plan.lease.fence : undefined, fence);
  });
}

eachEngine('a lease', (open) => {
  test('is given to one of many who want it at once', async () => {
    const store = await open();
    const holders = Array.from({ length: 20 }, (_, i) => `node ${i}`);
    const taken = await Promise.all(
      holders.map((holder) => acquireLease(store, { ...wish, holder })),
    );
    assert.equal(taken.filter((lease) => lease !== undefined).length, 1);
    const later = { ...wish, now_ms: NOW + 30_000 };
    const again = await Promise.all(
      holders.map((holder) => acquireLease(store, { ...later, holder })),
    );
    assert.deepEqual(
      again.flatMap((lease) => (lease === undefined ? [] : [lease.fence])),
      [2],
    );
  });

  test('that was renewed is not free when its first time is over', async () => {
    const store = await open();
    const lease = await acquireLease(store, wish);
    assert.ok(lease);
    await store.commit([renewLease(lease, NOW + 60_000)]);
    const other = { ...wish, holder: 'b', now_ms: NOW + 40_000 };
    assert.equal(await acquireLease(store, other), undefined);
    await store.commit([releaseLease(lease)]);
    assert.equal((await acquireLease(store, other))?.fence, 2);
  });

  test('refuses everything of a former holder', async () => {
    const store = await open();
    const former = await acquireLease(store, wish);
    assert.ok(former);
    await store.commit([requireLease(former)]);
    const other = { ...wish, holder: 'b', now_ms: NOW + 30_000 };
    const present = await acquireLease(store, other);
    assert.ok(present);
    for (const late of [requireLease(former), renewLease(former, NOW), releaseLease(former)]) {
      await assert.rejects(store.commit([late]), { kind: 'conflict' });
    }
    await store.commit([requireLease(present)]);
  });
});
