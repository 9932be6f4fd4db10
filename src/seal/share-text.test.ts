import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseShare, shareText } from './share-text.ts';

const share = Uint8Array.from({ length: 33 }, (_, index) => 251 - index);

test('a share is handed out as hex and base64, and both read back', () => {
  const { hex, base64 } = shareText(share);
  assert.equal(hex.length, 66);
  assert.equal(base64.length, 44);
  for (const text of [hex, hex.toUpperCase(), base64, ` ${base64}\n`]) {
    assert.deepEqual(parseShare(text), Buffer.from(share));
  }
});

test('a view into a larger buffer is handed out without its surroundings', () => {
  assert.equal(shareText(Buffer.from('xxab').subarray(2)).hex, '6162');
});

for (const text of ['', '   ', 'abc', 'zz', 'ab c', 'QQ', 'QQ=', 'QR==', '-_-_', '{"a":1}']) {
  test(`"${text}" is not a share`, () => assert.equal(parseShare(text), undefined));
}
