import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ENVELOPE_OVERHEAD,
  type EnvelopeContext,
  envelopeKeyId,
  openEnvelope,
  sealEnvelope,
} from './envelope.ts';

const key = new Uint8Array(32).fill(7);
const nonce = new Uint8Array(12).fill(9);
const place: EnvelopeContext = { table: 'pki_key', column: 'private_sealed', row: 'k-1' };
const plaintext = Buffer.from('a private key');
const sealed = sealEnvelope({ key, key_id: 3, nonce, place, plaintext });

test('a sealed value opens with its key at its place', () => {
  assert.deepEqual(openEnvelope({ key, place, sealed }), plaintext);
});

test('an empty value is sealed like any other', () => {
  const empty = sealEnvelope({ key, key_id: 1, nonce, place, plaintext: new Uint8Array() });
  assert.equal(empty.length, ENVELOPE_OVERHEAD);
  assert.deepEqual(openEnvelope({ key, place, sealed: empty }), Buffer.alloc(0));
  assert.equal(openEnvelope({ key, place: { ...place, row: 'k-2' }, sealed: empty }), undefined);
});

test('the layout is version, key id, nonce, ciphertext, tag', () => {
  assert.equal(sealed.length, 1 + 4 + 12 + plaintext.length + 16);
  assert.equal(Buffer.from(sealed.subarray(0, 17)).toString('hex'), `0100000003${'09'.repeat(12)}`);
  assert.equal(envelopeKeyId(sealed), 3);
});

test('a view into a larger buffer reads like bytes of its own', () => {
  const within = Buffer.concat([Buffer.from('before'), sealed]).subarray(6);
  assert.equal(envelopeKeyId(within), 3);
  assert.deepEqual(openEnvelope({ key, place, sealed: within }), plaintext);
});

const elsewhere: [change: Partial<EnvelopeContext>, why: string][] = [
  [{ row: 'k-2' }, 'another row'],
  [{ column: 'public_sealed' }, 'another column'],
  [{ table: 'pki_keys' }, 'another table'],
  [{ table: 'pki_keyp', column: 'rivate_sealed' }, 'the same letters divided elsewhere'],
];
for (const [change, why] of elsewhere) {
  test(`a value does not open at ${why}`, () => {
    assert.equal(openEnvelope({ key, place: { ...place, ...change }, sealed }), undefined);
  });
}

test('a value does not open with another key', () => {
  assert.equal(openEnvelope({ key: new Uint8Array(32).fill(8), place, sealed }), undefined);
});

test('no single bit of an envelope can be changed', () => {
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const changed = Uint8Array.from(sealed);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert.equal(openEnvelope({ key, place, sealed: changed }), undefined, `bit ${bit}`);
  }
});

test('an envelope cut short at any length, or with bytes after it, does not open', () => {
  for (let length = 0; length < sealed.length; length += 1) {
    assert.equal(openEnvelope({ key, place, sealed: sealed.subarray(0, length) }), undefined);
  }
  const longer = Buffer.concat([sealed, Buffer.alloc(1)]);
  assert.equal(openEnvelope({ key, place, sealed: longer }), undefined);
});

test('a nonce of another length is refused before anything is sealed', () => {
  const short = new Uint8Array(11);
  assert.throws(() => sealEnvelope({ key, key_id: 1, nonce: short, place, plaintext }), RangeError);
});
