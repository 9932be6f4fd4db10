import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eachEngine } from '../../test/support/engines.ts';
import {
  acquireLease,
  LeaseWatch,
  planLease,
  releaseLease,
  renewLease,
  requireLease,
} from './job-lock.ts';
import type { Store } from './store.ts';

const NOW = 1_800_000_000_000;
const request = { name: 'pki/crl', holder: 'a', now_ms: NOW, ttl_ms: 30_000 };

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
    const plan = planLease(found, request);
    assert.equal(plan.free ? plan.lease.fence : undefined, fence);
  });
}

const DAY = 86_400_000;

eachEngine('a lease of a node whose clock is a day ahead', (open) => {
  /** Another node, which looks at it with clocks of its own. */
  function observer() {
    let steady = 5_000;
    const seen = new LeaseWatch(() => steady);
    return {
      later: (milliseconds: number): void => {
        steady += milliseconds;
      },
      take: (store: Store) => {
        const mine = { ...request, holder: 'b', now_ms: NOW + steady };
        return acquireLease(store, mine, { seen, longest_ms: 60_000 });
      },
    };
  }

  test('is over once it has said the same for as long as any is given for', async () => {
    const store = await open();
    assert.ok(await acquireLease(store, { ...request, now_ms: NOW + DAY }));
    const { later, take } = observer();
    assert.equal(await take(store), undefined);
    later(59_999);
    assert.equal(await take(store), undefined);
    later(1);
    assert.equal((await take(store))?.fence, 2);
  });

  test('is not over while that node renews it', async () => {
    const store = await open();
    const lease = await acquireLease(store, { ...request, now_ms: NOW + DAY });
    assert.ok(lease);
    const { later, take } = observer();
    for (let at = 1; at < 5; at++) {
      assert.equal(await take(store), undefined);
      later(59_999);
      await store.commit([renewLease(lease, NOW + DAY + at * 59_999)]);
    }
    later(59_999);
    assert.equal(await take(store), undefined);
    await store.commit([requireLease(lease)]);
  });

  test('is another one once that node has taken it again', async () => {
    const store = await open();
    const ahead = { ...request, now_ms: NOW + DAY };
    assert.ok(await acquireLease(store, ahead));
    const { later, take } = observer();
    assert.equal(await take(store), undefined);
    later(60_000);
    assert.ok(await acquireLease(store, ahead), 'of the same end, with another number');
    assert.equal(await take(store), undefined);
  });
});

eachEngine('a lease', (open) => {
  test('is given to one of many who want it at once', async () => {
    const store = await open();
    const holders = Array.from({ length: 20 }, (_, i) => `node ${i}`);
    const taken = await Promise.all(
      holders.map((holder) => acquireLease(store, { ...request, holder })),
    );
    assert.equal(taken.filter((lease) => lease !== undefined).length, 1);
    const later = { ...request, now_ms: NOW + 30_000 };
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
    const lease = await acquireLease(store, request);
    assert.ok(lease);
    await store.commit([renewLease(lease, NOW + 60_000)]);
    const other = { ...request, holder: 'b', now_ms: NOW + 40_000 };
    assert.equal(await acquireLease(store, other), undefined);
    await store.commit([releaseLease(lease)]);
    assert.equal((await acquireLease(store, other))?.fence, 2);
  });

  test('refuses everything of a former holder', async () => {
    const store = await open();
    const former = await acquireLease(store, request);
    assert.ok(former);
    await store.commit([requireLease(former)]);
    const other = { ...request, holder: 'b', now_ms: NOW + 30_000 };
    const present = await acquireLease(store, other);
    assert.ok(present);
    for (const late of [requireLease(former), renewLease(former, NOW), releaseLease(former)]) {
      await assert.rejects(store.commit([late]), { kind: 'conflict' });
    }
    await store.commit([requireLease(present)]);
  });
});
