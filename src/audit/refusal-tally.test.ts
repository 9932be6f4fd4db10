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

test('of an address twenty are recorded in a minute, and the next minute twenty more', () => {
  const tally = new RefusalTally();
  const recorded = (from: number): number => {
    let whole = 0;
    for (let second = 0; second < 60; second++) {
      if (tally.take(from + second * 1000, '192.0.2.1', 'other')) whole++;
    }
    return whole;
  };
  assert.equal(recorded(0), 20);
  assert.equal(recorded(60_000), 20);
  assert.deepEqual(tally.drain(), [{ remote_address: '192.0.2.1', requests: 80 }]);
});

test('six addresses that are refused all day leave the records of others room, and fill no disk', () => {
  const tally = new RefusalTally();
  let whole = 0;
  for (let ms = 0; ms < 60_000; ms += 10) {
    if (tally.take(ms, `192.0.2.${(ms / 10) % 6}`, 'other')) whole++;
  }
  assert.equal(whole, 30);
  assert.deepEqual(
    [0, 1, 2, 3].map((ms) => tally.take(59_990 + ms, '198.51.100.1', 'other')),
    [true, true, true, false],
  );
});

test('a day of refusals from everywhere is sixty records a minute', () => {
  const tally = new RefusalTally();
  let whole = 0;
  for (let ms = 0; ms < 600_000; ms += 5) if (tally.take(ms, `address ${ms}`, 'other')) whole++;
  assert.equal(whole, 600);
});

test('the addresses of one IPv6 site are one, those of two are not', () => {
  const tally = new RefusalTally();
  const take = (address: string): boolean => tally.take(0, address, 'other');
  assert.deepEqual(
    ['2001:db8:1:1::1', '2001:db8:1:2::1', '2001:db8:1:3::1', '2001:db8:1:4::1'].map(take),
    [true, true, true, false],
  );
  assert.equal(take('2001:db8:2::1'), true);
  assert.deepEqual(tally.drain(), [{ remote_address: '2001:db8:1::/48', requests: 1 }]);
});

test('what there is no room for is counted', () => {
  const tally = new RefusalTally();
  assert.equal(tally.take(0, 'a', 'other', false), false);
  assert.deepEqual(tally.drain(), [{ remote_address: 'a', requests: 1 }]);
});
