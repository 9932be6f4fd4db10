import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Kept, LastOf } from './kept.ts';

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
  assert.deepEqual(left(), []);
  assert.equal(kept.find('g'), 2200);
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
