import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { encodePem } from '../core/pem.ts';
import { isPrivateSection, readPrivateSection } from './private-section.ts';
import { encodePublicKey } from './public-key.ts';
import { encodeMpint, encodeString, encodeUint32, WireReader } from './wire.ts';

const MAGIC_TEXT = 'openssh-key-v1\0';
const MAGIC = Buffer.from(MAGIC_TEXT);
const BLOCK = 8;

/** What a file of one private key holds; the section is encrypted unless `cipher` and `kdf` are `none`. */
export interface PrivateKeyFile {
  cipher: string;
  kdf: string;
  /** Of `kdf`. */
  options: Uint8Array;
  section: Buffer;
}

/** @returns undefined for what is no such file, or one of several keys */
export function readPrivateKeyFile(bytes: Uint8Array): PrivateKeyFile | undefined {
  const read = new WireReader(bytes);
  if (read.text(MAGIC_TEXT.length) !== MAGIC_TEXT) return undefined;
  const cipher = read.name();
  const kdf = read.name();
  const options = read.string();
  const count = read.uint32();
  read.string();
  const section = read.string();
  return read.failed || count !== 1 ? undefined : { cipher, kdf, options, section };
}

/** The key of a file without a passphrase; undefined for every other one, and for keys of other kinds. */
export function openPrivateKeyFile(bytes: Uint8Array): KeyObject | undefined {
  const file = readPrivateKeyFile(bytes);
  if (file?.cipher !== 'none' || file.kdf !== 'none') return undefined;
  return isPrivateSection(file.section) ? readPrivateSection(file.section) : undefined;
}

/** A private key as OpenSSH writes it where there is no passphrase (`PROTOCOL.key`). */
export function encodePrivateKeyFile(key: KeyObject, comment = ''): string {
  const { type, blob } = encodePublicKey(createPublicKey(key));
  const check = randomBytes(4);
  const open = Buffer.concat([
    check,
    check,
    encodeString(type),
    privateFields(key),
    encodeString(comment),
  ]);
  const padding = Buffer.from(
    Array.from({ length: (BLOCK - (open.length % BLOCK)) % BLOCK }, (_, at) => at + 1),
  );
  const section = Buffer.concat([open, padding]);
  const none = encodeString('none');
  const file = Buffer.concat([
    ...[MAGIC, none, none, encodeString('')],
    ...[encodeUint32(1), encodeString(blob), encodeString(section)],
  ]);
  const pem = encodePem('OPENSSH PRIVATE KEY', file);
  for (const part of [open, section, file]) part.fill(0);
  return pem;
}

function privateFields(key: KeyObject): Buffer {
  const numbers = key.export({ format: 'jwk' });
  const of = (name: 'd' | 'x' | 'y' | 'n' | 'e' | 'p' | 'q' | 'qi'): Buffer =>
    Buffer.from(numbers[name] ?? '', 'base64url');
  switch (numbers.kty) {
    case 'OKP':
      return Buffer.concat([
        encodeString(of('x')),
        encodeString(Buffer.concat([of('d'), of('x')])),
      ]);
    case 'RSA': {
      const inOrder = [of('n'), of('e'), of('d'), of('qi'), of('p'), of('q')];
      return Buffer.concat(inOrder.map((number) => encodeMpint(number)));
    }
    default: {
      const point = Buffer.concat([Buffer.of(4), of('x'), of('y')]);
      const curve = `nistp${/\d+/.exec(numbers.crv ?? '')?.[0] ?? ''}`;
      return Buffer.concat([encodeString(curve), encodeString(point), encodeMpint(of('d'))]);
    }
  }
}
