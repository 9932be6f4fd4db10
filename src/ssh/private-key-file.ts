import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto';
import { encodePem } from '../core/pem.ts';
import { encodePublicKey } from './public-key.ts';
import { encodeMpint, encodeString, encodeUint32 } from './wire.ts';

const MAGIC = Buffer.from('openssh-key-v1\0');
const BLOCK = 8;

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
