const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** Digits that are taken from one ordinary number: 58^9 is the last power below 2^53. */
const DIGITS = 9;

/** 58 to the power of 9, 18, 36 and so on. */
const POWERS: bigint[] = [58n ** BigInt(DIGITS)];

function powerAt(level: number): bigint {
  for (let known = POWERS.length; known <= level; known += 1) {
    const half = POWERS[known - 1] ?? 1n;
    POWERS.push(half * half);
  }
  return POWERS[level] ?? 1n;
}

/**
 * Base58 with the alphabet that leaves out what looks alike; no checksum. Every leading zero
 * byte is a `1`.
 */
export function encodeBase58(bytes: Uint8Array): string {
  let zeros = 0;
  while (zeros < bytes.length && bytes[zeros] === 0) zeros += 1;
  const value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`);
  let level = 0;
  while (powerAt(level) <= value) level += 1;
  return '1'.repeat(zeros) + digitsOf(value, level).replace(/^1+/, '');
}

/** Nine digits times 2^level, by halves: what is long costs far less so than digit by digit. */
function digitsOf(value: bigint, level: number): string {
  if (level > 0) {
    const half = powerAt(level - 1);
    const high = value / half;
    return digitsOf(high, level - 1) + digitsOf(value - high * half, level - 1);
  }
  let text = '';
  let rest = Number(value);
  for (let digit = 0; digit < DIGITS; digit += 1) {
    const next = Math.floor(rest / 58);
    text = (ALPHABET[rest - next * 58] ?? '') + text;
    rest = next;
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
