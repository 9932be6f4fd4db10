const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BITS_A_LETTER = Math.log2(62);

/**
 * Letters and digits made of random bytes, all equally likely.
 *
 * @param random at least 64 bits more than the letters can hold, so that the remainder of the
 *               division favours no letter by more than 2^-64
 * @throws RangeError with fewer
 */
export function base62(random: Uint8Array, letters: number): string {
  if (random.length * 8 < letters * BITS_A_LETTER + 64) {
    throw new RangeError(`${letters} letters need more random bytes`);
  }
  let rest = BigInt(`0x${Buffer.from(random).toString('hex')}`);
  let text = '';
  for (let letter = 0; letter < letters; letter += 1) {
    text += BASE62[Number(rest % 62n)];
    rest /= 62n;
  }
  return text;
}
