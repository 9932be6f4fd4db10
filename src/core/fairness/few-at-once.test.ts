import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doFewAtOnce } from './few-at-once.ts';

const items = Array.from({ length: 20 }, (_, at) => at);

for (const most of [1, 4, 20, 50]) {
  test(`of 20 items ${most} and no more are done at the same time, and all in the end`, async () => {
    let running = 0;
    let highest = 0;
    const { done, failed } = await doFewAtOnce(items, most, async (item) => {
      running += 1;
      highest = Math.max(highest, running);
      // The later, the quicker.
      for (let turn = item; turn < 20; turn++) await Promise.resolve();
      running -= 1;
      return -item;
    });
    assert.deepEqual(
      done,
      items.map((item) => -item),
      'in their order',
    );
    assert.equal(failed, undefined);
    assert.equal(highest, Math.min(most, 20));
  });
}

test('after a failure none is begun, and those under way are waited for', async () => {
  const begun: number[] = [];
  const { done, failed } = await doFewAtOnce(items, 4, async (item) => {
    begun.push(item);
    if (item === 5) throw new Error('the sixth');
    await new Promise(setImmediate);
    return item;
  });
  assert.match(String(failed?.reason), /the sixth/);
  assert.ok(begun.length <= 9, `${begun}`);
  assert.deepEqual(
    done,
    begun.filter((item) => item !== 5),
  );
});

test('nothing is done with no items', async () => {
  const outcome = await doFewAtOnce([], 4, () => Promise.reject(new Error('called')));
  assert.deepEqual(outcome, { done: [] });
});
