import { createPrivateKey, type KeyObject } from 'node:crypto';
import { parsePublicKey } from './public-key.ts';
import { encodeMpint, encodeString, WireReader } from './wire.ts';

// The part of OpenSSH's private keys that is encrypted where there is a passphrase (`PROTOCOL.key`).

const KEY_TYPES = /^(ssh-rsa|ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|sk-.*|ssh-dss)$/;

/** Whether its two check numbers are alike, and a key of a known type follows. */
export function isPrivateSection(section: Uint8Array): boolean {
  const read = new WireReader(section);
  const check = read.uint32();
  const again = read.uint32();
  const type = read.name();
  return !read.failed && check === again && KEY_TYPES.test(type);
}

/** The key in it; undefined for one that lies in a device, of DSA, or whose numbers are none. */
export function readPrivateSection(section: Uint8Array): KeyObject | undefined {
  const read = new WireReader(section);
  read.uint32();
  read.uint32();
  const type = read.name();
  try {
    if (type === 'ssh-ed25519') return readEd25519(read);
    if (type === 'ssh-rsa') return readRsa(read);
    return type.startsWith('ecdsa-sha2-') ? readEcdsa(type, read) : undefined;
  } catch {
    return undefined;
  }
}

function readEd25519(read: WireReader): KeyObject | undefined {
  read.string();
  const pair = read.string();
  if (read.failed || pair.length !== 64) return undefined;
  const key = pair.subarray(0, 32);
  return createPrivateKey({ key, format: 'raw-private', asymmetricKeyType: 'ed25519' });
}

const jwk = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

function readEcdsa(type: string, read: WireReader): KeyObject | undefined {
  const curve = read.string();
  const point = read.string();
  const d = read.mpint();
  const blob = Buffer.concat([encodeString(type), encodeString(curve), encodeString(point)]);
  const known = read.failed ? undefined : parsePublicKey(blob)?.key.export({ format: 'jwk' });
  if (!known) return undefined;
  const length = (point.length - 1) / 2;
  if (d.length > length) return undefined;
  const padded = Buffer.concat([Buffer.alloc(length - d.length), d]);
  return createPrivateKey({ format: 'jwk', key: { ...known, d: jwk(padded) } });
}

function readRsa(read: WireReader): KeyObject | undefined {
  const [n, e, d, qi, p, q] = Array.from({ length: 6 }, () => read.mpint());
  if (read.failed || !n || !e || !d || !qi || !p || !q) return undefined;
  const blob = Buffer.concat([encodeString('ssh-rsa'), encodeMpint(e), encodeMpint(n)]);
  const known = parsePublicKey(blob)?.key.export({ format: 'jwk' });
  // Of a key none is longer than its modulus; dividing others takes long.
  if (!known || [d, qi, p, q].some((number) => number.length > n.length)) return undefined;
  const exponent = numberOf(d);
  const dp = bytesOf(exponent % (numberOf(p) - 1n));
  const dq = bytesOf(exponent % (numberOf(q) - 1n));
  const numbers = { d: jwk(d), p: jwk(p), q: jwk(q), dp: jwk(dp), dq: jwk(dq), qi: jwk(qi) };
  return createPrivateKey({ format: 'jwk', key: { ...known, ...numbers } });
}

const numberOf = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`);

function bytesOf(number: bigint): Buffer {
  const hex = number.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}
