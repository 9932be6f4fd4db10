import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RefusalTally } from './refusal-tally.ts';

test('the first three refusals of an address in a second are recorded, the fourth is counted', () => {
  const tally = new RefusalTally();
  assert.deepEqual(
    [0, 1, 2, 999].map((ms) => tally.take(ms, 'a', 'other')),
    [true, true, true, false],
  );
  assert.equal(tally.take(1000, 'a', 'other'), true, 'a new second');
  assert.deepEqual(tally.drain(), [{ remote_address: 'a', requests: 1 }]);
  assert.deepEqual(tally.drain(), []);
});

test('a flood from everywhere makes ten records a second and 21 counts', () => {
  const tally = new RefusalTally();
  let whole = 0;
  for (let n = 0; n < 100_000; n++) if (tally.take(n / 1000, `address ${n}`, 'other')) whole++;
  assert.equal(whole, 10);
  const counts = tally.drain();
  assert.equal(counts.length, 21);
  assert.equal(
    counts.reduce((sum, one) => sum + one.requests, 0),
    100_000 - 10,
  );
  assert.equal(counts.at(-1)?.remote_address, undefined);
});

test('an unknown token is recorded however many log-ins failed before it, and the other way round', () => {
  for (const [noise, quiet] of [
    ['other', 'unknown_token'],
    ['unknown_token', 'other'],
  ] as const) {
    const tally = new RefusalTally();
    for (let n = 0; n < 1000; n++) tally.take(0, `address ${n % 20}`, noise);
    assert.deepEqual(
      [1, 2, 3, 4].map((ms) => tally.take(ms, 'address 0', quiet)),
      [true, true, true, false],
    );
  }
});
