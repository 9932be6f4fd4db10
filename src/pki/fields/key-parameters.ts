import { type Failure, invalid } from '../../core/failure.ts';
import { judgeKeyParameters } from '../../x509/key-sizes.ts';
import type { KeyType } from '../../x509/keys.ts';

/** SHA-2 sizes that a signature may be asked for. */
const SIGNATURE_SIZES: readonly number[] = [256, 384, 512];

interface KeyParameters {
  key_type: KeyType | 'any';
  /** 0: the usual size of the type. */
  key_bits: number;
  /** 0: SHA-256 under an RSA key, otherwise as the signing key wants it. */
  signature_bits: number;
}

/**
 * Fills in the zeros: RSA 2048 with SHA-256, EC 256, ML-DSA 65, SLH-DSA 128. But for RSA and EC the signature size
 * is 0, since the signing key decides; of `any` and Ed25519 `key_bits` stays as it was given.
 *
 * @throws Failure `invalid` naming the size that cannot be had
 * @see P-13
 */
export function resolveKeyParameters(wanted: KeyParameters): KeyParameters {
  const { key_type } = wanted;
  const key_bits = resolveKeyBits(key_type, wanted.key_bits);
  checkSignatureSizeOf(wanted);
  if (key_type === 'rsa') {
    return { key_type, key_bits, signature_bits: wanted.signature_bits || 256 };
  }
  return { key_type, key_bits, signature_bits: key_type === 'ec' ? wanted.signature_bits : 0 };
}

/**
 * Of an EC key its curve decides, and whatever size was named has no meaning.
 *
 * @throws Failure `invalid`
 * @see P-464
 */
export function checkSignatureSizeOf({
  key_type,
  signature_bits,
}: {
  key_type?: string | undefined;
  signature_bits: number;
}): void {
  if (key_type !== 'ec') checkSignatureSize(signature_bits);
}

/** @throws Failure `invalid` */
export function checkSignatureSize(bits: number): void {
  if (bits !== 0 && !SIGNATURE_SIZES.includes(bits)) {
    throw invalid(
      `unsupported hash signature algorithm: ${bits}; signature_bits is 0, 256, 384 or 512`,
      { fields: { signature_bits: '0, 256, 384 or 512' } },
    );
  }
}

function resolveKeyBits(key_type: KeyType | 'any', bits: number): number {
  if (key_type === 'ed25519' || key_type === 'any') {
    if (bits >= 0) return bits;
    throw refuseSize(`unsupported bit length: ${bits}; key_bits may be 0 or a number of bits`);
  }
  const verdict = judgeKeyParameters(key_type, bits);
  if (!verdict.allowed) throw refuseSize(verdict.because);
  return verdict.key_bits;
}

function refuseSize(because: string): Failure {
  return invalid(because, { fields: { key_bits: because } });
}
