import { Failure } from '../../core/failure.ts';
import type { KeyType } from '../../x509/keys.ts';

/** Sizes that can be made and certified; an Ed25519 key has only one. */
export const KEY_SIZES = {
  rsa: [2048, 3072, 4096, 8192],
  ec: [224, 256, 384, 521],
} as const;

/** SHA-2 sizes that a signature may be asked for. */
export const SIGNATURE_SIZES: readonly number[] = [256, 384, 512];

const DEFAULT_BITS = { rsa: 2048, ec: 256, ed25519: 0, any: 0 } as const;

export interface KeyParameters {
  key_type: KeyType | 'any';
  /** 0: the usual size of the type. */
  key_bits: number;
  /** 0: SHA-256 under an RSA key, otherwise as the signing key wants it. */
  signature_bits: number;
}

/**
 * Fills in the zeros: RSA 2048 with SHA-256, EC 256. For `any` and Ed25519 the signature size
 * is 0, since the signing key decides, and `key_bits` stays as it was given.
 *
 * @throws Failure `invalid` naming the size that cannot be had
 */
export function resolveKeyParameters(wanted: KeyParameters): KeyParameters {
  const { key_type } = wanted;
  const key_bits = wanted.key_bits === 0 ? DEFAULT_BITS[key_type] : wanted.key_bits;
  checkKeySize(key_type, key_bits);
  checkSignatureSize(wanted.signature_bits);
  if (key_type === 'rsa') {
    return { key_type, key_bits, signature_bits: wanted.signature_bits || 256 };
  }
  return { key_type, key_bits, signature_bits: key_type === 'ec' ? wanted.signature_bits : 0 };
}

/** @throws Failure `invalid` */
export function checkSignatureSize(bits: number): void {
  if (bits !== 0 && !SIGNATURE_SIZES.includes(bits)) {
    throw new Failure(
      'invalid',
      `unsupported hash signature algorithm: ${bits}; signature_bits is 0, 256, 384 or 512`,
      { fields: { signature_bits: '0, 256, 384 or 512' } },
    );
  }
}

function checkKeySize(key_type: KeyType | 'any', bits: number): void {
  if (key_type === 'ed25519' || key_type === 'any') {
    if (bits >= 0) return;
    throw refuseSize(`unsupported bit length: ${bits}`, '0 or a number of bits');
  }
  const sizes: readonly number[] = KEY_SIZES[key_type];
  if (sizes.includes(bits)) return;
  const accepted = `0, ${sizes.join(', ')}`;
  if (key_type === 'rsa' && bits < 2048) {
    throw refuseSize(`RSA keys < 2048 bits are unsafe and not supported: got ${bits}`, accepted);
  }
  const family = key_type === 'rsa' ? 'RSA' : 'EC';
  throw refuseSize(
    `unsupported bit length for ${family} key: ${bits}; key_bits is one of ${accepted}`,
    accepted,
  );
}

function refuseSize(message: string, accepted: string): Failure {
  return new Failure('invalid', message, { fields: { key_bits: accepted } });
}
