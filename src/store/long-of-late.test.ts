import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doFor } from '../core/fairness/asking.ts';
import { LongOfLate } from './long-of-late.ts';

const NOTED = { address: '192.0.2.1', sql: 'select a', at: 1_000 };

for (const [what, asks, expected] of [
  ['the same', { ...NOTED, at: 1_001 }, true],
  ['just within the time', { ...NOTED, at: 2_999 }, true],
  ['too late', { ...NOTED, at: 3_000 }, false],
  ['a neighbour of the network', { ...NOTED, address: '192.0.2.9' }, true],
  ['another network', { ...NOTED, address: '198.51.100.1' }, false],
  ['another statement', { ...NOTED, sql: 'select b' }, false],
] as const) {
  test(`what was long of late: ${what}`, () => {
    const long = new LongOfLate();
    doFor(NOTED.address, () => long.note(NOTED.sql, NOTED.at));
    assert.equal(
      doFor(asks.address, () => long.has(asks.sql, asks.at)),
      expected,
    );
  });
}

test('of very many the latest are remembered', () => {
  const long = new LongOfLate();
  const address = (at: number): string => `10.${at >> 8}.${at & 255}.1`;
  for (let at = 0; at < 5_000; at += 1) doFor(address(at), () => long.note('select a', 1));
  assert.equal(
    doFor(address(4_999), () => long.has('select a', 2)),
    true,
  );
  assert.equal(
    doFor(address(904), () => long.has('select a', 2)),
    true,
  );
  assert.equal(
    doFor(address(903), () => long.has('select a', 2)),
    false,
  );
});
