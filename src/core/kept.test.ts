import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Kept, LastOf } from './kept.ts';

test('values are kept up to a weight, a new one under a known key in the place of the old', () => {
  const kept = new LastOf<string>(10, ({ length }) => length);
  kept.set('a', '12345');
  kept.set('a', '123');
  kept.set('b', '1234567');
  assert.equal(kept.find('a'), '123');
  kept.set('c', '1');
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => kept.find(key)),
    [undefined, undefined, '1'],
  );
});

test('those who ask at the same time wait for one loading, and a failed one is tried again', async () => {
  const kept = new Kept<number>(10, () => 1);
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
