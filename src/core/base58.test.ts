import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeBase58, encodeBase58 } from './base58.ts';

// From the published drafts of the encoding (draft-msporny-base58-03, section 5).
const vectors: [bytes: Uint8Array, text: string][] = [
  [Buffer.from('Hello World!'), '2NEpo7TZRRrLZSi2U'],
  [
    Buffer.from('The quick brown fox jumps over the lazy dog.'),
    'USm3fpXnKG5EUBx2ndxBDMPVciP5hGey2Jh4NDv6gmeo1LkMeiKrLJUUBk6Z',
  ],
  [Buffer.from('0000287fb4cd', 'hex'), '11233QC4'],
  [Buffer.alloc(0), ''],
  [Buffer.alloc(3), '111'],
];

for (const [bytes, text] of vectors) {
  test(`base58 of ${Buffer.from(bytes).toString('hex') || 'nothing'}`, () => {
    assert.equal(encodeBase58(bytes), text);
    assert.deepEqual(decodeBase58(text), Buffer.from(bytes));
  });
}

test('text with other characters is no base58', () => {
  for (const text of ['0', 'O', 'I', 'l', 'a b', 'é']) assert.equal(decodeBase58(text), undefined);
});
