// BLAKE2b (RFC 7693) with a digest of 32 bytes and no key; the runtime has only that of 64.

const MASK = (1n << 64n) - 1n;
const IV = [
  0x6a09e667f3bcc908n,
  0xbb67ae8584caa73bn,
  0x3c6ef372fe94f82bn,
  0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n,
  0x9b05688c2b3e6c1fn,
  0x1f83d9abfb41bd6bn,
  0x5be0cd19137e2179n,
];
const SIGMA = [
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
  [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
  [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
  [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
  [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
  [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
  [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
  [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
  [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
  [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
const BLOCK = 128;
const LENGTH = 32;

/** Columns, then diagonals, of the working state. */
const MIXES = [
  [0, 4, 8, 12],
  [1, 5, 9, 13],
  [2, 6, 10, 14],
  [3, 7, 11, 15],
  [0, 5, 10, 15],
  [1, 6, 11, 12],
  [2, 7, 8, 13],
  [3, 4, 9, 14],
];

/** The BLAKE2b-256 digest of some bytes; for short ones, as it is not fast. */
export function blake2b256(bytes: Uint8Array): Uint8Array {
  const state = [...IV];
  state[0] = (state[0] ?? 0n) ^ BigInt(0x01010000 ^ LENGTH);
  const blocks = Math.max(1, Math.ceil(bytes.length / BLOCK));
  for (let block = 0; block < blocks; block++) {
    const part = new Uint8Array(BLOCK);
    part.set(bytes.subarray(block * BLOCK, (block + 1) * BLOCK));
    const last = block === blocks - 1;
    compress(state, part, last ? bytes.length : (block + 1) * BLOCK, last);
  }
  const digest = new Uint8Array(LENGTH);
  const view = new DataView(digest.buffer);
  for (let word = 0; word < LENGTH / 8; word++)
    view.setBigUint64(word * 8, state[word] ?? 0n, true);
  return digest;
}

function compress(state: bigint[], block: Uint8Array, count: number, last: boolean): void {
  const view = new DataView(block.buffer);
  const words = Array.from({ length: 16 }, (_, at) => view.getBigUint64(at * 8, true));
  const work = [...state, ...IV];
  const at = (place: number): bigint => work[place] ?? 0n;
  work[12] = at(12) ^ BigInt(count);
  if (last) work[14] = at(14) ^ MASK;
  const turn = (value: bigint, bits: bigint): bigint =>
    ((value >> bits) | (value << (64n - bits))) & MASK;
  for (let round = 0; round < 12; round++) {
    const order = SIGMA[round % 10] ?? [];
    MIXES.forEach(([a = 0, b = 0, c = 0, d = 0], mix) => {
      const x = words[order[mix * 2] ?? 0] ?? 0n;
      const y = words[order[mix * 2 + 1] ?? 0] ?? 0n;
      work[a] = (at(a) + at(b) + x) & MASK;
      work[d] = turn(at(d) ^ at(a), 32n);
      work[c] = (at(c) + at(d)) & MASK;
      work[b] = turn(at(b) ^ at(c), 24n);
      work[a] = (at(a) + at(b) + y) & MASK;
      work[d] = turn(at(d) ^ at(a), 16n);
      work[c] = (at(c) + at(d)) & MASK;
      work[b] = turn(at(b) ^ at(c), 63n);
    });
  }
  for (let word = 0; word < 8; word++) state[word] = (state[word] ?? 0n) ^ at(word) ^ at(word + 8);
}
