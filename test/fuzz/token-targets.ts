/** What the module of a device tells, which nobody else vouches for. */

import { generateKeyPairSync } from 'node:crypto';
import { invalid } from '../../src/core/failure.ts';
import { type PublicAttributes, RefusedOrder } from '../../src/pkcs11/orders.ts';
import { publicKeyInfoOf } from '../../src/pkcs11/public-key.ts';
import { octetString, oid } from '../../src/x509/der.ts';
import { CURVE_OID } from '../../src/x509/oids.ts';
import type { FuzzTarget } from './run.ts';

const KINDS = ['rsa', 'ec', 'ed25519'] as const;

/** The kind, the length of the first part, and the two parts. */
const encode = (kind: number, first: Uint8Array, second: Uint8Array): Uint8Array =>
  Buffer.concat([Uint8Array.of(kind, first.length), first, second]);

function decode(bytes: Uint8Array): PublicAttributes {
  const key_type = KINDS[(bytes[0] ?? 0) % KINDS.length] ?? 'rsa';
  const end = 2 + (bytes[1] ?? 0);
  // Longer attributes are not read from a module.
  const [first, second] = [bytes.subarray(2, end), bytes.subarray(end, end + 4096)];
  return key_type === 'rsa'
    ? { key_type, exponent: first, modulus: second }
    : { key_type, ecParams: first, ecPoint: second };
}

const part = (text: string | undefined): Buffer => Buffer.from(text ?? '', 'base64url');
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
const ed = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
const point = Buffer.concat([Uint8Array.of(4), part(ec.x), part(ec.y)]);
const P256 = oid(CURVE_OID[256]);

export const tokenTargets: readonly FuzzTarget[] = [
  {
    name: 'token-key',
    corpus: [
      encode(0, part(rsa.e), part(rsa.n)),
      encode(1, P256, point),
      encode(1, P256, octetString(point)),
      encode(2, P256, octetString(part(ed.x))),
    ],
    read: (bytes) => {
      try {
        publicKeyInfoOf(decode(bytes));
      } catch (error) {
        throw error instanceof RefusedOrder ? invalid(error.message) : error;
      }
    },
  },
];
