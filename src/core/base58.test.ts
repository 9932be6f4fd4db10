import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { spendsAtMost } from '../../test/support/cpu-time.ts';
import { decodeBase58, encodeBase58 } from './base58.ts';

// The vectors of draft-msporny-base58-03 §5, and what is at the edges.
const cases: [hex: string, text: string][] = [
  ['', ''],
  ['00', '1'],
  ['0000', '11'],
  ['39', 'z'],
  ['3a', '21'],
  ['61', '2g'],
  ['626262', 'a3gV'],
  ['636363', 'aPEr'],
  ['0000287fb4cd', '11233QC4'],
  [Buffer.from('Hello World!').toString('hex'), '2NEpo7TZRRrLZSi2U'],
  [
    Buffer.from('The quick brown fox jumps over the lazy dog.').toString('hex'),
    'USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z',
  ],
];

for (const [hex, text] of cases) {
  test(`"${text}" is ${hex === '' ? 'no bytes' : hex}`, () => {
    assert.equal(encodeBase58(Buffer.from(hex, 'hex')), text);
    assert.equal(Buffer.from(decodeBase58(text) ?? []).toString('hex'), hex);
  });
}

/** The definition: a number written to the base 58. */
function byDivision(bytes: Uint8Array): string {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  let value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  for (; value > 0n; value /= 58n) text = alphabet[Number(value % 58n)] + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
}

test('bytes of every length are written as by division, and read back', () => {
  for (let length = 0; length < 80; length += 1) {
    for (const fill of [0, 1, 255, 'random'] as const) {
      const bytes =
        fill === 'random'
          ? createHash('shake128', { outputLength: length + 1 })
              .update(`${length}`)
              .digest()
          : Buffer.alloc(length, fill);
      const text = encodeBase58(bytes);
      assert.equal(text, byDivision(bytes));
      assert.deepEqual(Buffer.from(decodeBase58(text) ?? []), bytes);
    }
  }
});

for (const text of ['0', 'O', 'I', 'l', '2g ', ' 2g', 'a\nb', 'ü']) {
  test(`${JSON.stringify(text)} is refused: it has a character that is none of the alphabet`, () => {
    assert.equal(decodeBase58(text), undefined);
  });
}

test('a long text is read at once, and one that is too long not at all', async () => {
  await spendsAtMost(500, () => {
    assert.equal(decodeBase58('z'.repeat(64 * 1024))?.length, 47_989);
    assert.equal(decodeBase58('z'.repeat(64 * 1024 + 1)), undefined);
  });
});
