const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Four digits at a time: with three bytes shifted in, every step stays within 2^48. */
const DIGITS = 4;
const STEP = 58 ** DIGITS;
const BYTES = 3;

/**
 * Base58 with the alphabet that leaves out what looks alike; no checksum. Every leading zero
 * byte is a `1`.
 */
export function encodeBase58(bytes: Uint8Array): string {
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros += 1;
  const places: number[] = [];
  for (let at = zeros; at < bytes.length; ) {
    const end = Math.min(at + BYTES, bytes.length);
    let carry = 0;
    let factor = 1;
    for (; at < end; at += 1) {
      carry = carry * 256 + (bytes[at] ?? 0);
      factor *= 256;
    }
    for (let place = 0; place < places.length; place += 1) {
      const value = (places[place] ?? 0) * factor + carry;
      carry = Math.floor(value / STEP);
      places[place] = value - carry * STEP;
    }
    while (carry > 0) {
      places.push(carry % STEP);
      carry = Math.floor(carry / STEP);
    }
  }
  let text = '';
  for (const place of places) text = digitsOf(place) + text;
  return '1'.repeat(zeros) + text.replace(/^1+/, '');
}

function digitsOf(place: number): string {
  let text = '';
  let rest = place;
  for (let digit = 0; digit < DIGITS; digit += 1) {
    text = (ALPHABET[rest % 58] ?? '') + text;
    rest = Math.floor(rest / 58);
  }
  return text;
}

const VALUES: ReadonlyMap<string, number> = new Map(
  [...ALPHABET].map((letter, value) => [letter, value]),
);

/** @returns undefined for text with any other character, blanks among them */
export function decodeBase58(text: string): Uint8Array | undefined {
  let zeros = 0;
  while (text[zeros] === '1') zeros += 1;
  const bytes: number[] = [];
  for (const letter of text.slice(zeros)) {
    let carry = VALUES.get(letter);
    if (carry === undefined) return undefined;
    for (let at = 0; at < bytes.length; at += 1) {
      carry += (bytes[at] ?? 0) * 58;
      bytes[at] = carry & 0xff;
      carry >>= 8;
    }
    if (carry > 0) bytes.push(carry);
  }
  return Uint8Array.from([...Array<number>(zeros).fill(0), ...bytes.reverse()]);
}
