import {
  constants,
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  generateKeyPairSync,
  type KeyObject,
  privateEncrypt,
  randomBytes,
  sign,
} from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { Answer, Order, PublicAttributes } from '../../../src/pkcs11/orders.ts';

// Stands for the process that has a module loaded, with a token whose objects lie in the file that stands for the
// library: `{ pin, pairs: { LABEL: PEM }, secrets: { LABEL: HEX }, doubles: { LABEL: [PEM] } }`. Without the file the device was pulled. Beside it
// its process is named, and how slow it is.

const [file = ''] = process.argv.slice(2);
writeFileSync(`${file}.pid`, String(process.pid));

interface Objects {
  pin: string;
  pairs: Record<string, string>;
  secrets: Record<string, string>;
  /** Further keys of a label, which are found before the one among the pairs. */
  doubles?: Record<string, string[]>;
}

const CURVES: Readonly<Record<string, string>> = {
  '06082a8648ce3d030107': 'prime256v1',
  '06052b81040022': 'secp384r1',
  '06052b81040023': 'secp521r1',
};

function answer(order: Order & { id: number }): Answer {
  const { id } = order;
  const refuse = (refusal: 'pin' | 'lost' | 'key' | 'mechanism'): Answer => ({
    ...{ id, type: 'refused', refusal },
    message: `the fake token has no such ${refusal}`,
  });
  if (!existsSync(file)) return refuse('lost');
  const slow = existsSync(`${file}.slow`) ? Number(readFileSync(`${file}.slow`, 'utf8')) : 0;
  // As a call into a device does.
  if (slow > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, slow);
  const objects: Objects = JSON.parse(readFileSync(file, 'utf8'));
  const keep = (): void => writeFileSync(file, JSON.stringify(objects));
  if (order.token.pin !== objects.pin) return refuse('pin');
  const label = order.key.label ?? '';
  const pem = objects.pairs[label];
  const secret = objects.secrets[label];
  const doubles = objects.doubles?.[label] ?? [];
  switch (order.kind) {
    case 'find pair':
      if (doubles.length > 0) return refuse('key');
      return { id, type: 'pair', pair: pem === undefined ? undefined : describe(pem) };
    case 'make pair': {
      // A real one would have two of that label from now on.
      if (pem !== undefined) return refuse('key');
      objects.pairs[label] = makePair(order.wanted);
      keep();
      return { id, type: 'pair', pair: describe(objects.pairs[label] ?? '') };
    }
    case 'sign': {
      const signer = pem && [...doubles, pem][order.anew ?? 0];
      if (signer === undefined) return refuse('lost');
      // Nor does every real one do PSS.
      if (order.mechanism.name.endsWith('PSS')) return refuse('mechanism');
      const bytes = signWith(createPrivateKey(signer), order);
      return { id, type: 'bytes', bytes, more: (order.anew ?? 0) < doubles.length };
    }
    case 'find secret':
      return { id, type: 'secret', found: secret !== undefined };
    case 'make secret':
      if (secret !== undefined) return refuse('key');
      objects.secrets[label] = randomBytes(32).toString('hex');
      keep();
      return { id, type: 'secret', found: true };
    default: {
      if (secret === undefined) return refuse('lost');
      const bytes = cipher(order, Buffer.from(secret, 'hex'));
      return bytes ? { id, type: 'bytes', bytes } : refuse('mechanism');
    }
  }
}

function makePair(wanted: (Order & { kind: 'make pair' })['wanted']): string {
  const { privateKey } = (() => {
    switch (wanted.key_type) {
      case 'rsa':
        return generateKeyPairSync('rsa', { modulusLength: wanted.key_bits });
      case 'ed25519':
        return generateKeyPairSync('ed25519');
      case 'ec': {
        const namedCurve = CURVES[Buffer.from(wanted.ecParams).toString('hex')] ?? '';
        return generateKeyPairSync('ec', { namedCurve });
      }
    }
  })();
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

function describe(pem: string): PublicAttributes {
  const key = createPrivateKey(pem);
  const { n, e, x, y } = key.export({ format: 'jwk' });
  const bytes = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64url');
  if (key.asymmetricKeyType === 'rsa') {
    return { key_type: 'rsa', modulus: bytes(n), exponent: bytes(e) };
  }
  if (key.asymmetricKeyType === 'ed25519') {
    return { key_type: 'ed25519', ecParams: Buffer.alloc(0), ecPoint: bytes(x) };
  }
  const curve = Object.entries(CURVES).find(
    ([, name]) => name === key.asymmetricKeyDetails?.namedCurve,
  );
  const ecPoint = Buffer.concat([Uint8Array.of(4), bytes(x), bytes(y)]);
  return { key_type: 'ec', ecParams: Buffer.from(curve?.[0] ?? '', 'hex'), ecPoint };
}

function signWith(key: KeyObject, { mechanism, data }: Order & { kind: 'sign' }): Uint8Array {
  switch (mechanism.name) {
    case 'RSA_PKCS':
      return privateEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, data);
    case 'EDDSA':
      return sign(null, data, key);
    case 'ECDSA':
      return signDigest(key, data);
    default:
      throw new Error('not by the fake token');
  }
}

/** ECDSA of a digest, which the library makes only of data that it hashes itself: by the numbers. */
function signDigest(key: KeyObject, digest: Uint8Array): Uint8Array {
  const { d, crv } = key.export({ format: 'jwk' });
  if (crv !== 'P-256') throw new Error('the fake token signs with P-256');
  return p256Sign(BigInt(`0x${Buffer.from(d ?? '', 'base64url').toString('hex')}`), digest);
}

const P = 2n ** 256n - 2n ** 224n + 2n ** 192n + 2n ** 96n - 1n;
const N = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const G: Point = [
  0x6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296n,
  0x4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5n,
];
type Point = readonly [bigint, bigint] | undefined;

const modulo = (a: bigint, m: bigint): bigint => ((a % m) + m) % m;

function invert(a: bigint, m: bigint): bigint {
  let [old, rest, x, next] = [modulo(a, m), m, 1n, 0n];
  while (rest !== 0n) {
    const q = old / rest;
    [old, rest] = [rest, old - q * rest];
    [x, next] = [next, x - q * next];
  }
  return modulo(x, m);
}

function add(a: Point, b: Point): Point {
  if (!a || !b) return a ?? b;
  if (a[0] === b[0] && a[1] !== b[1]) return undefined;
  const slope =
    a[0] === b[0]
      ? (3n * a[0] * a[0] - 3n) * invert(2n * a[1], P)
      : (b[1] - a[1]) * invert(b[0] - a[0], P);
  const x = modulo(slope * slope - a[0] - b[0], P);
  return [x, modulo(slope * (a[0] - x) - a[1], P)];
}

function multiply(point: Point, by: bigint): Point {
  let [sum, doubled]: [Point, Point] = [undefined, point];
  for (let left = by; left > 0n; left >>= 1n) {
    if (left & 1n) sum = add(sum, doubled);
    doubled = add(doubled, doubled);
  }
  return sum;
}

function p256Sign(d: bigint, digest: Uint8Array): Uint8Array {
  const z = BigInt(`0x${Buffer.from(digest).toString('hex')}`);
  for (;;) {
    const k = modulo(BigInt(`0x${randomBytes(40).toString('hex')}`), N - 1n) + 1n;
    const r = modulo(multiply(G, k)?.[0] ?? 0n, N);
    const s = modulo(invert(k, N) * (z + r * d), N);
    if (r === 0n || s === 0n) continue;
    const hex = [r, s].map((one) => one.toString(16).padStart(64, '0')).join('');
    return Buffer.from(hex, 'hex');
  }
}

const TAG_BYTES = 16;

function cipher(
  { kind, gcm, data }: Order & { kind: 'encrypt' | 'decrypt' },
  key: Buffer,
): Uint8Array | undefined {
  if (kind === 'encrypt') {
    const encrypting = createCipheriv('aes-256-gcm', key, gcm.iv).setAAD(gcm.aad);
    return Buffer.concat([encrypting.update(data), encrypting.final(), encrypting.getAuthTag()]);
  }
  const end = data.length - TAG_BYTES;
  try {
    const decrypting = createDecipheriv('aes-256-gcm', key, gcm.iv).setAAD(gcm.aad);
    decrypting.setAuthTag(data.subarray(end));
    return Buffer.concat([decrypting.update(data.subarray(0, end)), decrypting.final()]);
  } catch {
    return undefined;
  }
}

process.on('message', (order: Order & { id: number }) => process.send?.(answer(order)));
process.on('disconnect', () => process.exit(0));
