import type { KeyObject } from 'node:crypto';

/**
 * A public key as OpenSSH writes it on one line (RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4).
 *
 * @throws TypeError for a kind of key that has no such form here
 */
export function encodeSshPublicKey(key: KeyObject): string {
  const { kty, crv, x = '', y = '', e = '', n = '' } = key.export({ format: 'jwk' });
  if (kty === 'OKP') return lineOf('ssh-ed25519', [bytesOf(x)]);
  if (kty === 'RSA') return lineOf('ssh-rsa', [positive(bytesOf(e)), positive(bytesOf(n))]);
  const curve = `nistp${/\d+/.exec(crv ?? '')?.[0] ?? ''}`;
  if (kty !== 'EC') throw new TypeError(`keys of kind ${kty} have no SSH form`);
  const point = Buffer.concat([Buffer.of(4), bytesOf(x), bytesOf(y)]);
  return lineOf(`ecdsa-sha2-${curve}`, [Buffer.from(curve), point]);
}

const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64url');

/** A leading one bit would be a sign. */
function positive(bytes: Buffer): Buffer {
  return (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes;
}

function lineOf(type: string, parts: readonly Buffer[]): string {
  const strings = [Buffer.from(type), ...parts].flatMap((part) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    return [length, part];
  });
  return `${type} ${Buffer.concat(strings).toString('base64')}`;
}
