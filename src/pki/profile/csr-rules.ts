import { Failure, invalid } from '../../core/failure.ts';
import { type Csr, isCsrSignatureValid, parseCsr, verifyCsrSignature } from '../../x509/csr.ts';
import { findExtension, parseBasicConstraints } from '../../x509/extensions.ts';
import { describePublicKey, type KeyDescription, type KeyType } from '../../x509/keys.ts';
import { EXTENSION_OID } from '../../x509/oids.ts';
import {
  findParameterSet,
  isPostQuantum,
  type PostQuantumKeyType,
} from '../../x509/post-quantum.ts';
import { judgePublicKey } from '../../x509/weak-keys.ts';

/** A request whose sender holds the key, and what kind of key that is. */
export interface SignedCsr {
  csr: Csr;
  key: KeyDescription;
}

/** Of SLH-DSA and ML-DSA every set of parameters will do. */
const MIN_BITS: Partial<Record<KeyType, number>> = { rsa: 2048, ec: 224 };

/**
 * Reads the `csr` field.
 *
 * @throws Failure `invalid` for what is no request, for a key nobody certifies, and for a
 *   signature that does not prove possession of the key
 */
export async function requireCsr(text: string): Promise<SignedCsr> {
  const read = readCsr(text);
  if (!(await verifyCsrSignature(read.csr))) throw refuseSignature(read.csr);
  return read;
}

/** {@link requireCsr} on a thread that nobody waits for. @see P-58 */
export function requireCsrSync(text: string): SignedCsr {
  const read = readCsr(text);
  if (!isCsrSignatureValid(read.csr)) throw refuseSignature(read.csr);
  return read;
}

/**
 * Refuses a key whose private half could be found; see `judgePublicKey` for how long that takes.
 *
 * @param subjectPublicKeyInfo DER
 * @throws Failure `invalid`
 */
export function requireSoundKey(subjectPublicKeyInfo: Uint8Array): void {
  const verdict = judgePublicKey(subjectPublicKeyInfo);
  if (verdict.sound) return;
  throw invalid(`refusing to certify a weak key: ${verdict.because}`, {
    fields: { csr: 'a request for a key that nobody else can find' },
  });
}

/** With SHA-1 a signature may have been made of another text than this. @see P-472 */
function refuseSignature({ signatureAlgorithm }: Csr): Failure {
  if (signatureAlgorithm !== undefined) return invalid('request signature invalid');
  return invalid(
    'request signature invalid: its algorithm is not supported; RSA and ECDSA with SHA-256, SHA-384 or SHA-512, Ed25519, ML-DSA and SLH-DSA are accepted',
    { fields: { csr: 'a request that is signed with SHA-256 or better' } },
  );
}

/** {@link requireCsr} but for the signature: nothing may be certified for what this returns. */
export function readCsr(text: string): SignedCsr {
  if (text.trim() === '') {
    throw invalid('"csr" is empty', { fields: { csr: 'PKCS #10 in PEM' } });
  }
  const csr = parseCsr(text);
  return { csr, key: describeCsrKey(csr) };
}

function describeCsrKey(csr: Csr): KeyDescription {
  let key: KeyDescription;
  try {
    key = describePublicKey(csr.subjectPublicKeyInfo);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const message = `Refusing to sign CSR with empty PublicKey: ${error.message}`;
    throw invalid(message, { cause: error });
  }
  return key;
}

/**
 * Checks a request's key against a role's, or only against what is safe.
 *
 * @param wanted of the role; `any` and 0 when there is none
 * @throws Failure `invalid`
 * @see P-57
 */
export function checkCsrKey(
  key: KeyDescription,
  wanted: { key_type: KeyType | 'any'; key_bits: number },
): void {
  const { key_type, key_bits } = key;
  if (wanted.key_type !== 'any' && wanted.key_type !== key_type) {
    throw invalid(`role requires keys of type ${wanted.key_type}`);
  }
  if (key_type === 'rsa' && key_bits < 2048) {
    throw invalid(`RSA keys < 2048 bits are unsafe and not supported: got ${key_bits}`);
  }
  const min = wanted.key_type === 'any' ? (MIN_BITS[key_type] ?? 0) : wanted.key_bits;
  if (key_type !== 'ed25519' && key_bits < min) {
    if (isPostQuantum(key_type)) throw refuseParameters(key_type, key_bits, min);
    throw invalid(`role requires a minimum of a ${min}-bit key, but CSR's key is ${key_bits} bits`);
  }
}

function refuseParameters(key_type: PostQuantumKeyType, key_bits: number, min: number): Failure {
  const [own, least] = [key_bits, min].map((bits) => findParameterSet(key_type, bits)?.name);
  return invalid(`role requires a key of ${least} at least, but CSR's key is of ${own}`);
}

/** What a request says about being a CA; undefined when it says nothing. */
export function findCsrBasicConstraints(csr: Csr): { ca: boolean } | undefined {
  const extension = findExtension(csr.extensions, EXTENSION_OID.basicConstraints);
  return extension && parseBasicConstraints(extension.value);
}

/** @see P-59 */
export const IGNORED_BASIC_CONSTRAINTS =
  'specified CSR contained a Basic Constraints extension that was ignored during issuance';
