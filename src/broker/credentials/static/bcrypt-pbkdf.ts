import { createHash } from 'node:crypto';

// The key derivation of OpenSSH's encrypted private keys: PBKDF2's shape with bcrypt's expensive
// key set-up of Blowfish in the place of HMAC. Blowfish's first state is the fraction of pi.

const WORDS_P = 18;
const WORDS_S = 1024;
const HALVES = 64;

/**
 * Derives a key, a slice of the work at a time, so that a server can do other things between.
 *
 * @param rounds each costs some milliseconds for every 32 bytes of `length`
 * @yields after each of the slow steps; returns the derived bytes
 */
export function* deriveBcryptKey(
  passphrase: string,
  salt: Uint8Array,
  rounds: number,
  length: number,
): Generator<void, Uint8Array> {
  const secret = sha512(Buffer.from(passphrase, 'utf8'));
  const derived = new Uint8Array(length);
  const stride = Math.ceil(length / 32);
  for (let block = 1; block <= stride; block++) {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(block);
    let step = bcryptHash(secret, sha512(Buffer.concat([salt, count])));
    const sum = Uint8Array.from(step);
    for (let round = 1; round < rounds; round++) {
      yield;
      step = bcryptHash(secret, sha512(step));
      for (let at = 0; at < sum.length; at++) sum[at] = (sum[at] ?? 0) ^ (step[at] ?? 0);
    }
    // The blocks are dealt out like cards, a byte each in turn.
    for (let at = 0; at < sum.length; at++) {
      const place = at * stride + (block - 1);
      if (place < length) derived[place] = sum[at] ?? 0;
    }
    yield;
  }
  return derived;
}

function sha512(bytes: Uint8Array): Buffer {
  return createHash('sha512').update(bytes).digest();
}

const MESSAGE = 'OxychromaticBlowfishSwatDynamite';

function bcryptHash(secret: Uint8Array, salt: Uint8Array): Uint8Array {
  const state = firstState();
  const key = wordsOf(secret);
  const salted = wordsOf(salt);
  expand(state, key, salted);
  for (let turn = 0; turn < HALVES; turn++) {
    expand(state, salted, undefined);
    expand(state, key, undefined);
  }
  const words = wordsOf(Buffer.from(MESSAGE, 'latin1'));
  for (let turn = 0; turn < HALVES; turn++) {
    for (let at = 0; at < words.length; at += 2) encipher(state, words, at);
  }
  const out = Buffer.alloc(32);
  words.forEach((word, at) => {
    out.writeUInt32LE(word, at * 4);
  });
  return out;
}

/** P-array and S-boxes, one after the other. */
type State = Uint32Array;

let pi: State | undefined;

function firstState(): State {
  pi ??= fractionOfPi(WORDS_P + WORDS_S);
  return Uint32Array.from(pi);
}

/** The first words of pi's fraction, by Machin's formula with some bits to spare. */
export function fractionOfPi(words: number): Uint32Array {
  const bits = BigInt(words * 32);
  const spare = 64n;
  const one = 1n << (bits + spare);
  const arctan = (inverse: bigint): bigint => {
    const square = inverse * inverse;
    let term = one / inverse;
    let sum = term;
    for (let odd = 3n, sign = -1n; term !== 0n; odd += 2n, sign = -sign) {
      term /= square;
      sum += (sign * term) / odd;
    }
    return sum;
  };
  const value = (4n * (4n * arctan(5n) - arctan(239n))) >> spare;
  const hex = (value & ((1n << bits) - 1n)).toString(16).padStart(words * 8, '0');
  return Uint32Array.from({ length: words }, (_, at) =>
    Number.parseInt(hex.slice(at * 8, at * 8 + 8), 16),
  );
}

function wordsOf(bytes: Uint8Array): Uint32Array {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return Uint32Array.from({ length: bytes.length / 4 }, (_, at) => view.readUInt32BE(at * 4));
}

/** Mixes a key into the state, and a salt where there is one. */
function expand(state: State, key: Uint32Array, salt: Uint32Array | undefined): void {
  for (let at = 0; at < WORDS_P; at++) state[at] = (state[at] ?? 0) ^ (key[at % key.length] ?? 0);
  const pair = new Uint32Array(2);
  let next = 0;
  for (let at = 0; at < WORDS_P + WORDS_S; at += 2) {
    if (salt) {
      pair[0] = (pair[0] ?? 0) ^ (salt[next] ?? 0);
      pair[1] = (pair[1] ?? 0) ^ (salt[next + 1] ?? 0);
      next = (next + 2) % salt.length;
    }
    encipher(state, pair, 0);
    state[at] = pair[0] ?? 0;
    state[at + 1] = pair[1] ?? 0;
  }
}

function encipher(state: State, words: Uint32Array, at: number): void {
  let left = ((words[at] ?? 0) ^ (state[0] ?? 0)) >>> 0;
  let right = words[at + 1] ?? 0;
  for (let round = 1; round <= 16; round += 2) {
    right = (right ^ mix(state, left) ^ (state[round] ?? 0)) >>> 0;
    left = (left ^ mix(state, right) ^ (state[round + 1] ?? 0)) >>> 0;
  }
  words[at] = (right ^ (state[17] ?? 0)) >>> 0;
  words[at + 1] = left;
}

function mix(state: State, half: number): number {
  const a = state[WORDS_P + (half >>> 24)] ?? 0;
  const b = state[WORDS_P + 256 + ((half >>> 16) & 255)] ?? 0;
  const c = state[WORDS_P + 512 + ((half >>> 8) & 255)] ?? 0;
  const d = state[WORDS_P + 768 + (half & 255)] ?? 0;
  return ((((a + b) | 0) ^ c) + d) | 0;
}
