import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blake2b256 } from './blake2b.ts';

// Digests by another implementation.
const cases: [bytes: Uint8Array, digest: string][] = [
  [
    Uint8Array.from({ length: 0 }, (_, at) => at % 251),
    '0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8',
  ],
  [
    Uint8Array.from({ length: 3 }, (_, at) => at % 251),
    '3d8c3d594928271f44aad7a04b177154806867bcf918e1549c0bc16f9da2b09b',
  ],
  [
    Uint8Array.from({ length: 127 }, (_, at) => at % 251),
    'f2fe67ff342e21b8f45e8f2e0bcd1d9243245d50ee6c78042e9c491388791c72',
  ],
  [
    Uint8Array.from({ length: 128 }, (_, at) => at % 251),
    'c3582f71ebb2be66fa5dd750f80baae97554f3b015663c8be377cfcb2488c1d1',
  ],
  [
    Uint8Array.from({ length: 129 }, (_, at) => at % 251),
    'f7f3c46ba2564ff4c4c162da1f5b605f9f1c4aa6a20652a9f9a337c1a2f5b9c9',
  ],
  [
    Uint8Array.from({ length: 300 }, (_, at) => at % 251),
    '940563f11807c8ba3192299e05cf544b82463742c8a5e80c2a5d81751cd8b0ca',
  ],
];

for (const [bytes, digest] of cases) {
  test(`${bytes.length} bytes have their digest`, () => {
    assert.equal(Buffer.from(blake2b256(bytes)).toString('hex'), digest);
  });
}
