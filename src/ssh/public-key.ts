import { createPublicKey, type KeyObject } from 'node:crypto';
import { encodeMpint, encodeString, WireReader } from './wire.ts';

/** A public key as SSH has it. */
export interface SshPublicKey {
  /** Of the key, e.g. `ssh-ed25519` or `ecdsa-sha2-nistp256`; `ssh-rsa` for every RSA key. */
  type: string;
  key: KeyObject;
  /** As it is sent, with the type in it. */
  blob: Buffer;
}

/** Bits that an RSA key has: fewer are no longer accepted, more take too long. */
const RSA_BITS = { least: 2048, most: 16_384 };
/** By the name that follows `ecdsa-sha2-`: bytes of a coordinate, and the name in JWK. */
const CURVES: Readonly<Record<string, { bytes: number; crv: string }>> = {
  nistp256: { bytes: 32, crv: 'P-256' },
  nistp384: { bytes: 48, crv: 'P-384' },
  nistp521: { bytes: 66, crv: 'P-521' },
};
/** Types of keys that are known here. */
export const KEY_TYPES = [
  'ssh-ed25519',
  ...Object.keys(CURVES).map((curve) => `ecdsa-sha2-${curve}`),
  'ssh-rsa',
] as const;

/** The fields of a key of some type, as they follow the type; undefined for one that cannot be read. */
export function readKeyFields(type: string, read: WireReader): KeyObject | undefined {
  try {
    if (type === 'ssh-ed25519') {
      const key = read.string();
      return read.failed
        ? undefined
        : createPublicKey({ key, format: 'raw-public', asymmetricKeyType: 'ed25519' });
    }
    if (type === 'ssh-rsa') return readRsa(read);
    return type.startsWith('ecdsa-sha2-') ? readEcdsa(type.slice(11), read) : undefined;
  } catch {
    return undefined;
  }
}

function readRsa(read: WireReader): KeyObject | undefined {
  const from = read.position;
  const e = read.mpint();
  const n = read.mpint();
  // One key has one form (RFC 4251 §5): keys are compared by their bytes.
  if (read.position - from !== encodeMpint(e).length + encodeMpint(n).length) return;
  const bits = n.length * 8 - Math.clz32(n[0] ?? 0) + 24;
  const { least, most } = RSA_BITS;
  if (read.failed || !isExponent(e) || bits < least || bits > most) return;
  return createPublicKey({ format: 'jwk', key: { kty: 'RSA', n: jwk(n), e: jwk(e) } });
}

/** Odd, and neither so small that everybody can sign nor so large that it takes long. */
const isExponent = (e: Buffer): boolean =>
  e.length > 0 && e.length <= 8 && ((e.at(-1) ?? 0) & 1) === 1 && !(e.length === 1 && e[0] === 1);

function readEcdsa(name: string, read: WireReader): KeyObject | undefined {
  const curve = CURVES[name];
  const named = read.name();
  const point = read.string();
  if (!curve || read.failed || named !== name) return undefined;
  const { bytes, crv } = curve;
  if (point.length !== 1 + 2 * bytes || point[0] !== 4) return undefined;
  const x = jwk(point.subarray(1, 1 + bytes));
  const y = jwk(point.subarray(1 + bytes));
  return createPublicKey({ format: 'jwk', key: { kty: 'EC', crv, x, y } });
}

const jwk = (bytes: Buffer): string => bytes.toString('base64url');

/** A key as it is sent; undefined for one that cannot be read, and for a certificate. */
export function parsePublicKey(blob: Uint8Array): SshPublicKey | undefined {
  const read = new WireReader(blob);
  const type = read.name();
  const key = readKeyFields(type, read);
  return key && read.isDone ? { type, key, blob: Buffer.from(blob) } : undefined;
}

const LINE = /^([a-z0-9@.-]{1,64})[ \t]+([A-Za-z0-9+/]{1,16384}={0,2})(?:[ \t].*)?$/;

/** What a line of a type and base64 holds, whose type the bytes have to repeat. */
export function blobOfLine(line: string): Buffer | undefined {
  const [, type, base64 = ''] = LINE.exec(line) ?? [];
  const blob = Buffer.from(base64, 'base64');
  return type !== undefined && new WireReader(blob).name() === type ? blob : undefined;
}

/** One line as `ssh-keygen` writes public keys, e.g. `ssh-ed25519 AAAA… comment`. */
export function parsePublicKeyLine(line: string): SshPublicKey | undefined {
  const blob = blobOfLine(line);
  return blob && parsePublicKey(blob);
}

/**
 * The fields of a public key with its type before them (RFC 4253 §6.6, RFC 5656 §3.1, RFC 8709 §4).
 *
 * @throws TypeError for a kind of key that has no such form here
 */
export function encodePublicKey(key: KeyObject): SshPublicKey {
  const { type, fields } = keyFields(key);
  return { type, key, blob: Buffer.concat([encodeString(type), fields]) };
}

/** @throws TypeError as {@link encodePublicKey} */
export function keyFields(key: KeyObject): { type: string; fields: Buffer } {
  const { kty, crv, x = '', y = '', e = '', n = '' } = key.export({ format: 'jwk' });
  if (kty === 'OKP' && crv === 'Ed25519') {
    return { type: 'ssh-ed25519', fields: encodeString(bytesOf(x)) };
  }
  if (kty === 'RSA') {
    const fields = Buffer.concat([encodeMpint(bytesOf(e)), encodeMpint(bytesOf(n))]);
    return { type: 'ssh-rsa', fields };
  }
  const curve = `nistp${/\d+/.exec(crv ?? '')?.[0] ?? ''}`;
  if (kty !== 'EC' || !CURVES[curve]) throw new TypeError(`keys of kind ${kty} have no SSH form`);
  const point = Buffer.concat([Buffer.of(4), bytesOf(x), bytesOf(y)]);
  const fields = Buffer.concat([encodeString(curve), encodeString(point)]);
  return { type: `ecdsa-sha2-${curve}`, fields };
}

const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64url');

/** A public key as OpenSSH writes it on one line. @throws TypeError as {@link encodePublicKey} */
export function encodeSshPublicKey(key: KeyObject): string {
  const { type, blob } = encodePublicKey(key);
  return `${type} ${blob.toString('base64')}`;
}
