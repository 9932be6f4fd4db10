const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const VALUES: ReadonlyMap<string, bigint> = new Map(
  [...ALPHABET].map((letter, value) => [letter, BigInt(value)]),
);

/** Bytes as base58 text, with the alphabet of Bitcoin. For what is short: the cost is quadratic. */
export function encodeBase58(bytes: Uint8Array): string {
  let value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`);
  let text = '';
  while (value > 0n) {
    text = ALPHABET[Number(value % 58n)] + text;
    value /= 58n;
  }
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text;
}

/** The bytes of base58 text; undefined for text that holds other characters. */
export function decodeBase58(text: string): Buffer | undefined {
  let value = 0n;
  for (const letter of text) {
    const digit = VALUES.get(letter);
    if (digit === undefined) return undefined;
    value = value * 58n + digit;
  }
  const hex = value === 0n ? '' : value.toString(16);
  const zeros = /^1*/.exec(text)?.[0].length ?? 0;
  return Buffer.concat([
    Buffer.alloc(zeros),
    Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex'),
  ]);
}
