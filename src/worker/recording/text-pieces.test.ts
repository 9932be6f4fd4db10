import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buffersUsed } from '../../../test/support/heap.ts';
import { TextPieces } from './text-pieces.ts';

const SAMPLE = 'aé€😀z\u001b[0m';

for (let size = 1; size <= 5; size += 1) {
  test(`text in pieces of ${size} bytes is the text`, () => {
    const pieces = new TextPieces();
    const bytes = Buffer.from(SAMPLE.repeat(3));
    let text = '';
    for (let at = 0; at < bytes.length; at += size) {
      const taken = pieces.take(bytes.subarray(at, at + size));
      assert.ok(taken.is_text);
      text += taken.text;
    }
    assert.equal(text + pieces.finish().text, SAMPLE.repeat(3));
  });
}

const kinds: [bytes: string, is_text: boolean, text: string, why: string][] = [
  ['616263', true, 'abc', 'ASCII'],
  ['00', false, '\0', 'a zero byte'],
  ['ff', false, '\ufffd', 'a byte that no character has'],
  ['f8808080', false, '\ufffd\ufffd\ufffd\ufffd', 'five bytes that once were one'],
  ['80', false, '\ufffd', 'the end of a character without its beginning'],
  ['c0af', false, '\ufffd\ufffd', 'an overlong slash'],
  ['eda080', false, '\ufffd\ufffd\ufffd', 'half of a pair'],
  ['c3', true, '', 'a character that has only begun'],
  ['61f09f98', true, 'a', 'one more'],
  ['808080', false, '\ufffd\ufffd\ufffd', 'ends alone'],
];
for (const [hex, is_text, text, why] of kinds) {
  test(`${hex} is ${is_text ? '' : 'no '}text: ${why}`, () => {
    const taken = new TextPieces().take(Buffer.from(hex, 'hex'));
    assert.equal(taken.is_text, is_text);
    assert.equal(taken.text, text);
  });
}

test('every byte is given once, whatever it is', () => {
  const bytes = Buffer.from(Array.from({ length: 4096 }, (_, at) => (at * 167) & 0xff));
  const pieces = new TextPieces();
  const given: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 3)
    given.push(pieces.take(bytes.subarray(at, at + 3)).bytes);
  given.push(pieces.finish().bytes);
  assert.deepEqual(Buffer.concat(given), bytes);
});

for (const [what, last] of [
  ['nothing', 0x61],
  ['the beginning of a character', 0xf0],
] as const) {
  test(`of a stream that ends in ${what} no more is kept than that`, async () => {
    const before = await buffersUsed();
    const streams = Array.from({ length: 500 }, () => new TextPieces());
    for (const stream of streams) stream.take(Buffer.alloc(64 << 10, last));
    const grown = (await buffersUsed()) - before;
    assert.ok(grown < 4 << 20, `${grown} bytes`);
    assert.equal(streams.length, 500);
  });
}
