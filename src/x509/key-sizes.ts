/** Of which sizes keys are made here. */

import { EC_BITS, findCurve, type KeyType } from './keys.ts';
import {
  findParameterSet,
  isPostQuantum,
  POST_QUANTUM_KEY_TYPES,
  type PostQuantumKeyType,
  sizesOf,
  USUAL_BITS,
} from './post-quantum.ts';

const CLASSICAL_KEY_TYPES = ['rsa', 'ec', 'ed25519'];
const RSA_BITS = [2048, 3072, 4096, 8192];

type KeyVerdict =
  | { allowed: true; key_type: KeyType; key_bits: number }
  | { allowed: false; because: string };

const refuse = (because: string): KeyVerdict => ({ allowed: false, because });

/**
 * Says whether a key of this kind may be generated, and of which size when none was asked for (0):
 * RSA 2048, a curve of 256, ML-DSA 65, SLH-DSA 128. The size is ignored for Ed25519.
 */
export function judgeKeyParameters(key_type: string, key_bits: number): KeyVerdict {
  switch (key_type) {
    case 'ed25519':
      return { allowed: true, key_type, key_bits: 0 };
    case 'rsa': {
      const bits = key_bits === 0 ? 2048 : key_bits;
      if (bits < 2048) {
        return refuse(`RSA keys < 2048 bits are unsafe and not supported: got ${bits}`);
      }
      return RSA_BITS.includes(bits)
        ? { allowed: true, key_type, key_bits: bits }
        : refuse(
            `unsupported bit length for RSA key: ${bits}; key_bits may be ${RSA_BITS.join(', ')}`,
          );
    }
    case 'ec': {
      const bits = findCurve(key_bits === 0 ? 256 : key_bits);
      return bits
        ? { allowed: true, key_type, key_bits: bits }
        : refuse(
            `unsupported bit length for EC key: ${key_bits}; key_bits may be ${EC_BITS.join(', ')}`,
          );
    }
    default:
      return isPostQuantum(key_type)
        ? judgeParameterSet(key_type, key_bits)
        : refuse(
            `unknown key type ${JSON.stringify(key_type.slice(0, 64))}; key_type may be ${[...CLASSICAL_KEY_TYPES, ...POST_QUANTUM_KEY_TYPES].join(', ')}`,
          );
  }
}

function judgeParameterSet(key_type: PostQuantumKeyType, key_bits: number): KeyVerdict {
  const usual = key_type === 'mldsa' ? USUAL_BITS.mldsa : USUAL_BITS.slhdsa;
  const set = findParameterSet(key_type, key_bits === 0 ? usual : key_bits);
  return set
    ? { allowed: true, key_type, key_bits: set.key_bits }
    : refuse(
        `unsupported bit length for ${key_type} key: ${key_bits}; key_bits may be ${sizesOf(key_type).join(', ')}`,
      );
}
