import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { KeyedHash } from './keyed-hash.ts';

const keys = [
  new Uint8Array(0),
  Uint8Array.from({ length: 32 }, (_, at) => at),
  Buffer.alloc(64, 7),
];
const texts = ['', 'hvs.x', 'ä€😀', '\ud800', 'a'.repeat(170), 'a'.repeat(171), '€'.repeat(2_000)];
const bytes = [0, 1, 63, 64, 65, 511, 512, 513, 5_000].map((length) => Buffer.alloc(length, 0xa5));

for (const key of keys) {
  test(`it is HMAC-SHA-256, whatever is hashed, with a key of ${key.length} bytes`, () => {
    const keyed = new KeyedHash(Uint8Array.from(key));
    for (const data of [...texts, ...bytes, ...texts.toReversed()]) {
      const expected = createHmac('sha256', key).update(data).digest();
      assert.deepEqual(keyed.of(data), expected, `${typeof data} of ${data.length}`);
      for (const encoding of ['hex', 'base64url'] as const) {
        assert.equal(keyed.textOf(data, encoding), expected.toString(encoding));
      }
    }
  });
}

test('a key longer than a block is refused, and so is none that fits', () => {
  assert.throws(() => new KeyedHash(new Uint8Array(65)), RangeError);
  assert.equal(new KeyedHash(new Uint8Array(64)).of('').length, 32);
});

test('two hashes are apart from one another', () => {
  const keyed = new KeyedHash(new Uint8Array(32));
  const first = keyed.of('a');
  const before = Buffer.from(first);
  keyed.of('b');
  assert.deepEqual(first, before);
});

test('nothing of the key is left after it was wiped', () => {
  const key = Buffer.alloc(32, 9);
  const keyed = new KeyedHash(key);
  keyed.wipe();
  assert.ok(key.every((byte) => byte === 0));
  const withZeros = createHmac('sha256', Buffer.alloc(32)).update('a').digest();
  assert.notDeepEqual(
    keyed.of('a'),
    createHmac('sha256', Buffer.alloc(32, 9)).update('a').digest(),
  );
  assert.notDeepEqual(keyed.of('a'), withZeros, 'the pads are gone, too');
});
