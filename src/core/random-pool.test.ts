import assert from 'node:assert/strict';
import { randomFillSync } from 'node:crypto';
import { test } from 'node:test';
import { pooledRandom } from './random-pool.ts';

/** Numbers bytes from 1 on, so that each is told from any other, and from wiped ones. */
function counted() {
  const fills: Uint8Array[] = [];
  let next = 0;
  const random = pooledRandom((bytes) => {
    fills.push(bytes);
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = (next++ % 251) + 1;
  });
  return { random, fills };
}

test('no byte is given away twice, and none is left out or made up', () => {
  const { random, fills } = counted();
  let expected = 0;
  for (let length = 0; length <= 64; length += 1) {
    const bytes = random(length);
    assert.equal(bytes.length, length);
    for (const byte of bytes) assert.equal(byte, (expected++ % 251) + 1);
  }
  assert.equal(fills.length, 1);
});

test('what is left of a pool and is too short is passed over, never stretched', () => {
  const { random, fills } = counted();
  for (let n = 0; n < 16; n += 1) random(250);
  assert.equal(fills.length, 1, '4,000 of 4,096 bytes');
  const bytes = random(97);
  assert.equal(fills.length, 2);
  assert.ok(bytes.every((byte) => byte > 0));
});

test('what was given away is not in the pool any more, and is nobody else’s to change', () => {
  const { random, fills } = counted();
  const bytes = random(32);
  assert.ok(fills[0]?.subarray(0, 32).every((byte) => byte === 0));
  assert.ok(fills[0]?.subarray(32).every((byte) => byte > 0));
  bytes.fill(7);
  assert.ok(fills[0]?.subarray(0, 32).every((byte) => byte === 0));
  assert.equal(bytes.byteOffset, 0);
  assert.equal(bytes.buffer.byteLength, 32);
});

test('many bytes at once are asked for by themselves', () => {
  const { random, fills } = counted();
  assert.equal(random(257).length, 257);
  assert.deepEqual(
    fills.map(({ length }) => length),
    [257],
  );
});

test('of the generator’s bytes ten thousand numbers are all different', () => {
  const random = pooledRandom((bytes) => randomFillSync(bytes));
  const seen = new Set(Array.from({ length: 10_000 }, () => random(16).toHex()));
  assert.equal(seen.size, 10_000);
});
