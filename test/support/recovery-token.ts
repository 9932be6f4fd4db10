import { createCipheriv, randomBytes } from 'node:crypto';

const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/**
 * A recovery token as clients make one, written here without the server's own code.
 *
 * @param what.text instead of what a token says of itself
 */
export function makeRecoveryToken(
  key: Uint8Array,
  what: { created_ms?: number; nonce?: string; text?: string },
): string {
  const nonce = what.nonce ?? randomBytes(32).toString('base64').replace(/=+$/, '');
  // Nanoseconds and a zone that is not UTC, as programs in Go write times.
  const creation_time = new Date((what.created_ms ?? 0) + 3_600_000)
    .toISOString()
    .replace('Z', '000000+01:00');
  const text = what.text ?? JSON.stringify({ nonce, creation_time });
  const iv = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  const sealed = Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]);
  const keyInfo = field(5, field(3, Buffer.from('global_recovery')));
  return `r_1${base58(Buffer.concat([field(1, sealed), keyInfo]))}`;
}

/** A field of bytes in a protocol buffer message. */
function field(number: number, bytes: Uint8Array): Buffer {
  const length = [];
  for (let rest = bytes.length; ; rest >>= 7) {
    if (rest < 128) {
      length.push(rest);
      break;
    }
    length.push((rest & 127) | 128);
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

function base58(bytes: Uint8Array): string {
  const digits: number[] = [];
  for (const byte of bytes) {
    let carry = byte;
    for (let at = 0; at < digits.length || carry > 0; at++) {
      carry += (digits[at] ?? 0) * 256;
      digits[at] = carry % 58;
      carry = Math.floor(carry / 58);
    }
  }
  return digits
    .reverse()
    .map((digit) => ALPHABET[digit])
    .join('');
}
