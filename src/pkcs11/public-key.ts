import { createPublicKey } from 'node:crypto';
import { readOid } from '../x509/der-primitives.ts';
import { readDer } from '../x509/der-reader.ts';
import {
  type CurveBits,
  ecPublicKeyInfo,
  fieldBytes,
  findCurveByOid,
  parsePublicKey,
  publicKeyInfo,
} from '../x509/keys.ts';
import { type PublicAttributes, RefusedOrder } from './orders.ts';

/**
 * SubjectPublicKeyInfo of a key as a token tells it.
 *
 * @throws RefusedOrder for a key of another kind than certificates can have here
 */
export function publicKeyInfoOf(told: PublicAttributes): Uint8Array {
  try {
    const info = infoOf(told);
    // Whether the point is on its curve, and the exponent one.
    parsePublicKey(info);
    return info;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new RefusedOrder('key', `the key of the token cannot be used: ${why}`);
  }
}

function infoOf(told: PublicAttributes): Uint8Array {
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
  switch (told.key_type) {
    case 'rsa': {
      const key = { kty: 'RSA', n: text(told.modulus), e: text(told.exponent) };
      return publicKeyInfo(createPublicKey({ key, format: 'jwk' }));
    }
    case 'ec': {
      const curve = curveOf(told.ecParams);
      return ecPublicKeyInfo(curve, pointOf(told.ecPoint, 1 + 2 * fieldBytes(curve)));
    }
    case 'ed25519': {
      const key = { kty: 'OKP', crv: 'Ed25519', x: text(pointOf(told.ecPoint, ED25519_BYTES)) };
      return publicKeyInfo(createPublicKey({ key, format: 'jwk' }));
    }
  }
}

const ED25519_BYTES = 32;

function curveOf(ecParams: Uint8Array): CurveBits {
  const curve = findCurveByOid(readOid(readDer(ecParams)));
  if (curve) return curve;
  throw new Error('its curve is none of P-224, P-256, P-384 and P-521');
}

/** Some modules tell the point in an OCTET STRING, some as it is; one that is as it is may look like the other. */
function pointOf(ecPoint: Uint8Array, length: number): Uint8Array {
  return ecPoint.length === length ? ecPoint : readDer(ecPoint).content;
}
