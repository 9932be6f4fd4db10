import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { holdsNobodyUp } from '../../test/support/turns.ts';
import { doFor } from './fairness/asking.ts';
import { atMostOf, Kept, LastOf } from './kept.ts';

test('values are kept up to so many bytes, a new one under a known key in the place of the old', () => {
  const kept = new LastOf<number>(10_000, (bytes) => bytes);
  kept.set('a', 2000);
  kept.set('a', 500);
  for (const key of ['b', 'c', 'd']) kept.set(key, 2200);
  const left = () => ['a', 'b', 'c', 'd', 'f'].filter((key) => kept.find(key) !== undefined);
  assert.deepEqual(left(), ['a', 'b', 'c', 'd']);
  kept.set('f', 1);
  assert.deepEqual(left(), ['a', 'b', 'c', 'd', 'f']);
  kept.set('g', 2200);
  assert.deepEqual(left(), ['c', 'd', 'f'], 'those that were there first have gone');
  assert.equal(kept.find('g'), 2200);
});

test('whoever asks for values one after the other, of a room that is full, finds the latest', () => {
  const kept = new LastOf<number>(100_000, () => 0);
  for (let at = 0; at < 10_000; at++) {
    kept.set(`${at}`, at);
    assert.ok(kept.bytes <= 100_000);
    assert.equal(kept.find(`${Math.max(0, at - 250)}`), Math.max(0, at - 250));
  }
});

test('keys weigh as values do, so that long ones take no more room than others', () => {
  const kept = new LastOf<true>(1 << 20, () => 0);
  for (let at = 0; at < 1000; at++) {
    kept.set(`${at}`.padEnd(10_000, 'n'), true);
    assert.ok(kept.bytes <= 1 << 20, `${kept.bytes} bytes`);
  }
  assert.ok(kept.bytes >= 10_000);
});

test('what is forgotten weighs nothing any more', () => {
  const kept = new LastOf<number>(10_000, (bytes) => bytes);
  kept.set('a', 1000);
  kept.set('b', 100);
  kept.delete('a');
  kept.delete('a');
  assert.ok(kept.bytes >= 100 && kept.bytes < 1000);
  kept.clear();
  assert.equal(kept.bytes, 0);
});

test('what would take a large part of the room alone is not kept, and pushes nothing out', () => {
  const kept = new LastOf<number>(10_000, (bytes) => bytes);
  kept.set('small', 1000);
  kept.set('large', 2000);
  kept.set('large', 2500);
  assert.equal(kept.find('large'), undefined, 'nor is what it was before');
  kept.set('fits', 2200);
  assert.deepEqual([kept.find('small'), kept.find('fits')], [1000, 2200]);
});

test('a value may take the whole room where that is said, and no more', () => {
  const kept = new LastOf<number>(10_000, (bytes) => bytes, 1);
  kept.set('small', 1000);
  kept.set('large', 9000);
  assert.deepEqual([kept.find('small'), kept.find('large')], [undefined, 9000]);
  kept.set('larger', 10_000);
  assert.deepEqual([kept.find('large'), kept.find('larger')], [9000, undefined]);
});

test('what takes long to make is kept however large it is, and pushes out most others', () => {
  const room = 10_000;
  const kept = new LastOf<number>(room, (bytes) => atMostOf(room, bytes), 3 / 4);
  for (const key of ['a', 'b', 'c']) kept.set(key, 1_500);
  assert.equal(kept.size, 3);
  kept.set('large', 50_000);
  assert.equal(kept.find('large'), 50_000);
  assert.equal(kept.find('a'), undefined);
  kept.set('larger', 60_000);
  assert.equal(kept.find('large'), undefined, 'there is never more than one');
  assert.equal(atMostOf(room, 6_999), 6_999);
});

test('those who ask at the same time wait for one loading, and a failed one is tried again', async () => {
  const kept = new Kept<number>(10_000, () => 1);
  let loads = 0;
  const load = async (): Promise<number> => ++loads;
  assert.deepEqual(await Promise.all([kept.get('a', load), kept.get('a', load)]), [1, 1]);
  assert.equal(await kept.get('a', load), 1);
  const fail = async (): Promise<number> => {
    throw new Error('not now');
  };
  await assert.rejects(kept.get('b', fail), /not now/);
  assert.equal(await kept.get('b', load), 2);
});

test('of many that are asked for together, those are loaded that nobody has asked for, each once', async () => {
  const kept = new Kept<string>(10_000, () => 1);
  const loads: (readonly string[])[] = [];
  const load = async (keys: readonly string[]) => {
    loads.push(keys);
    await undefined;
    return (key: string): string => key.toUpperCase();
  };
  const [one, other, single] = await Promise.all([
    kept.getAll(['a', 'b'], load),
    kept.getAll(['c', 'b', 'a'], load),
    kept.get('b', async () => 'another'),
  ]);
  assert.deepEqual([one, other, single], [['A', 'B'], ['C', 'B', 'A'], 'B']);
  assert.deepEqual(await kept.getAll(['c', 'd'], load), ['C', 'D']);
  assert.deepEqual(loads, [['a', 'b'], ['c'], ['d']]);
  const fail = async (): Promise<never> => {
    throw new Error('not now');
  };
  await assert.rejects(kept.getAll(['c', 'e'], fail), /not now/);
  assert.deepEqual(await kept.getAll(['e'], load), ['E'], 'what failed is tried again');
});

test('of more than there is room for whoever asks has all', async () => {
  const kept = new Kept<number>(10_000, (bytes) => bytes, 1);
  const load = async () => (key: string) => Number(key);
  assert.deepEqual(await kept.getAll(['6000', '7000', '20000'], load), [6000, 7000, 20_000]);
  assert.ok(kept.bytes <= 10_000);
});

const spend = (milliseconds: number): void => {
  for (const end = performance.now() + milliseconds; performance.now() < end; );
};
const slowly = async (): Promise<number> => {
  for (let turn = 0; turn < 3; turn += 1) await nextTurn();
  return 1;
};
const waits: [how: string, ask: (kept: Kept<number>) => Promise<unknown>][] = [
  ['one', (kept) => kept.get('a', slowly)],
  [
    'one that fails',
    (kept) => kept.get('a', async () => Promise.reject(await slowly())).catch(() => {}),
  ],
  [
    'many',
    (kept) =>
      kept.getAll(['a', 'b'], async () => {
        const value = await slowly();
        return () => value;
      }),
  ],
];
for (const [how, ask] of waits) {
  test(`what those go on to do who waited for the same loading is not one turn: ${how}`, () =>
    holdsNobodyUp(async () => {
      const kept = new Kept<number>(10_000, () => 1);
      const all = Array.from({ length: 500 }, async () => {
        await ask(kept);
        await undefined;
        spend(0.2);
      });
      await Promise.all(all);
    }));
}

const NETWORKS = ['192.0.2.1', '198.51.100.1', '203.0.113.1'] as const;

test('what one network waits for is loaded once more for the others, and what is there first serves all', async () => {
  const kept = new Kept<string>(10_000, () => 0);
  const begun: { by: string; end: (value: string) => void; fail: (error: Error) => void }[] = [];
  const ask = (address: string) =>
    doFor(address, () =>
      kept.get('a', async () => {
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        begun.push({ by: address, end: resolve, fail: reject });
        return promise;
      }),
    );
  const [mine, theirs, others] = NETWORKS;
  const asked = [mine, mine, theirs, theirs, others, mine].map(ask);
  assert.deepEqual(
    begun.map(({ by }) => by),
    [mine, theirs],
  );
  begun[1]?.end('theirs');
  assert.deepEqual(await Promise.all(asked.slice(2)), Array(4).fill('theirs'));
  assert.equal(kept.find('a'), 'theirs');
  begun[0]?.fail(new Error('no'));
  for (const first of asked.slice(0, 2)) await assert.rejects(first, /no/);
});
