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
  const text = Buffer.allocUnsafe(DIGITS * 2 ** level);
  writeDigits(value, level, text, 0);
  let from = 0;
  while (text[from] === CODES[0]) from += 1;
  return '1'.repeat(zeros) + text.toString('latin1', from);
}

const CODES = Buffer.from(ALPHABET);

/** Writes nine digits times 2^level, by halves: what is long costs far less so than digit by digit. */
function writeDigits(value: bigint, level: number, into: Uint8Array, from: number): void {
  if (level > 0) {
    const half = powerAt(level - 1);
    const high = value / half;
    writeDigits(high, level - 1, into, from);
    writeDigits(value - high * half, level - 1, into, from + DIGITS * 2 ** (level - 1));
    return;
  }
  let rest = Number(value);
  for (let at = from + DIGITS - 1; at >= from; at -= 1) {
    const next = Math.floor(rest / 58);
    into[at] = CODES[rest - next * 58] ?? 0;
    rest = next;
  }
}

const VALUES: ReadonlyMap<string, number> = new Map(
  [...ALPHABET].map((letter, value) => [letter, value]),
);

/** Far longer than anything that is written so. */
const MAX_TEXT = 64 * 1024;

/** @returns undefined for text with any other character, blanks among them, or of over 64 KiB */
export function decodeBase58(text: string): Uint8Array | undefined {
  if (text.length > MAX_TEXT) return undefined;
  let zeros = 0;
  while (text[zeros] === '1') zeros += 1;
  let level = 0;
  while (DIGITS * 2 ** level < text.length - zeros) level += 1;
  const value = readDigits(text.slice(zeros).padStart(DIGITS * 2 ** level, '1'), level);
  if (value === undefined) return undefined;
  const hex = value === 0n ? '' : value.toString(16);
  const rest = Uint8Array.fromHex(hex.length % 2 === 0 ? hex : `0${hex}`);
  const bytes = new Uint8Array(zeros + rest.length);
  bytes.set(rest, zeros);
  return bytes;
}

/** The reverse of {@link writeDigits}. */
function readDigits(text: string, level: number): bigint | undefined {
  if (level > 0) {
    const half = text.length / 2;
    const high = readDigits(text.slice(0, half), level - 1);
    const low = readDigits(text.slice(half), level - 1);
    if (high === undefined || low === undefined) return undefined;
    return high * powerAt(level - 1) + low;
  }
  let value = 0;
  for (const letter of text) {
    const digit = VALUES.get(letter);
    if (digit === undefined) return undefined;
    value = value * 58 + digit;
  }
  return BigInt(value);
}
