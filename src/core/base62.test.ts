import assert from 'node:assert/strict';
import { test } from 'node:test';
import { base62 } from './base62.ts';

test('base62 is the number in base 62, least digit first, as worked out by hand', () => {
  // 62 * 61 + 10 = 3792 = 0x0ed0.
  const number = new Uint8Array(16);
  number.set([0x0e, 0xd0], 14);
  assert.equal(base62(number, 3), 'Az0');
});

test('base62 refuses fewer random bytes than keep the letters equally likely', () => {
  assert.equal(base62(new Uint8Array(26), 24).length, 24);
  assert.throws(() => base62(new Uint8Array(25), 24), RangeError);
});
