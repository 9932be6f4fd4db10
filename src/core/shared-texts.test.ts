import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedTexts } from './shared-texts.ts';

function pair(): { mine: SharedTexts; theirs: SharedTexts } {
  const mine = new SharedTexts();
  return { mine, theirs: new SharedTexts(mine.shared) };
}

test('what one puts the other takes, once and in its order', () => {
  const { mine, theirs } = pair();
  const texts = ['', 'a', 'ä', '€uro', '\u{1f511}', '{"a":"b"}', 'x'.repeat(1000)];
  for (const text of texts) assert.ok(theirs.put(text));
  assert.deepEqual(mine.take(), texts);
  assert.deepEqual(mine.take(), []);
});

test('what there is no room for is not put, and all that was is there', () => {
  const { mine, theirs } = pair();
  const long = 'x'.repeat(100_000);
  let count = 0;
  while (theirs.put(`${count} ${long}`)) count += 1;
  assert.equal(count, 10);
  assert.equal(theirs.put('y'.repeat(2 << 20)), false);
  assert.deepEqual(
    mine.take().map((text) => Number(text.split(' ')[0])),
    Array.from({ length: count }, (_, at) => at),
  );
  assert.ok(theirs.put(long));
});

test('texts of all lengths go round the memory many times, beyond what a number of 32 bits counts', () => {
  const { mine, theirs } = pair();
  // Just before the numbers of bytes go on below zero.
  const head = new Int32Array(mine.shared, 0, 2);
  head.fill(2 ** 31 - (1 << 20));
  let next = 0;
  let expected = 0;
  for (let round = 0; round < 400; round += 1) {
    for (let some = 0; some < 40; some += 1) {
      const text = `${next} ${'ä'.repeat((next * 37) % 401)}`;
      if (!theirs.put(text)) break;
      next += 1;
    }
    if (round % 7 === 0) continue;
    for (const text of mine.take()) {
      assert.equal(text, `${expected} ${'ä'.repeat((expected * 37) % 401)}`);
      expected += 1;
    }
  }
  for (const _ of mine.take()) expected += 1;
  assert.equal(expected, next);
  assert.ok(next > 10_000);
});

test('who takes is called once until they take', () => {
  const { mine, theirs } = pair();
  assert.deepEqual([theirs.call(), theirs.call()], [true, false]);
  mine.take();
  assert.deepEqual([theirs.call(), theirs.call()], [true, false]);
});

test('that nothing more is to be put the other one hears', () => {
  const { mine, theirs } = pair();
  mine.setClosed(true);
  assert.ok(theirs.isClosed);
  mine.setClosed(false);
  assert.ok(!theirs.isClosed);
});
