/**
 * Keys that only sign and that quantum computers are not known to break: ML-DSA (FIPS 204, RFC 9881) and
 * SLH-DSA (FIPS 205, RFC 9909), each by its sets of parameters. The forms that hash beforehand are not among
 * them: RFC 9881 §8.3 forbids them in certificates, and nobody asks for those of RFC 9909.
 */

import type { KeyObject } from 'node:crypto';

export type PostQuantumKeyType =
  | 'mldsa'
  | 'slhdsa-sha2-s'
  | 'slhdsa-sha2-f'
  | 'slhdsa-shake-s'
  | 'slhdsa-shake-f';

type Hash = 'sha2' | 'shake';
type Strength = 128 | 192 | 256;
type Speed = 's' | 'f';
type MlDsaBits = 44 | 65 | 87;

/** As `revocation_signature_algorithm` has them. */
export type PostQuantumAlgorithm =
  | `MLDSA${MlDsaBits}`
  | `SLHDSA-${Uppercase<Hash>}-${Strength}${Speed}`;

export interface ParameterSet {
  key_type: PostQuantumKeyType;
  key_bits: number;
  algorithm: PostQuantumAlgorithm;
  /** As FIPS 204 and 205 call it, e.g. `ML-DSA-65`. */
  name: string;
  /** As the cryptographic library calls keys of it. */
  library_type: `ml-dsa-${MlDsaBits}` | `slh-dsa-${Hash}-${Strength}${Speed}`;
  /** Of key and signature alike, without parameters. */
  oid: string;
  public_bytes: number;
  signature_bytes: number;
  /** About how many milliseconds of a core a signature takes. */
  signing_ms: number;
}

const ARC = '2.16.840.1.101.3.4.3';

function mlDsa(
  bits: MlDsaBits,
  arc: number,
  public_bytes: number,
  signature_bytes: number,
): ParameterSet {
  return {
    key_type: 'mldsa',
    key_bits: bits,
    algorithm: `MLDSA${bits}`,
    name: `ML-DSA-${bits}`,
    library_type: `ml-dsa-${bits}`,
    oid: `${ARC}.${arc}`,
    public_bytes,
    signature_bytes,
    signing_ms: 1,
  };
}

/** FIPS 205 §11, table 2: bytes of signatures. */
const SIGNATURES: Record<`${Strength}${Speed}`, number> = {
  '128s': 7_856,
  '128f': 17_088,
  '192s': 16_224,
  '192f': 35_664,
  '256s': 29_792,
  '256f': 49_856,
};

function slhDsa(
  hash: Hash,
  strength: Strength,
  speed: Speed,
  arc: number,
  signing_ms: number,
): ParameterSet {
  const upper = hash === 'sha2' ? 'SHA2' : 'SHAKE';
  return {
    key_type: `slhdsa-${hash}-${speed}`,
    key_bits: strength,
    algorithm: `SLHDSA-${upper}-${strength}${speed}`,
    name: `SLH-DSA-${upper}-${strength}${speed}`,
    library_type: `slh-dsa-${hash}-${strength}${speed}`,
    oid: `${ARC}.${arc}`,
    public_bytes: strength / 4,
    signature_bytes: SIGNATURES[`${strength}${speed}`],
    signing_ms,
  };
}

/** In the order of their OIDs. @see RFC 9881 §2, RFC 9909 §3 */
export const PARAMETER_SETS: readonly ParameterSet[] = [
  mlDsa(44, 17, 1_312, 2_420),
  mlDsa(65, 18, 1_952, 3_309),
  mlDsa(87, 19, 2_592, 4_627),
  slhDsa('sha2', 128, 's', 20, 200),
  slhDsa('sha2', 128, 'f', 21, 10),
  slhDsa('sha2', 192, 's', 22, 400),
  slhDsa('sha2', 192, 'f', 23, 20),
  slhDsa('sha2', 256, 's', 24, 400),
  slhDsa('sha2', 256, 'f', 25, 40),
  slhDsa('shake', 128, 's', 26, 600),
  slhDsa('shake', 128, 'f', 27, 30),
  slhDsa('shake', 192, 's', 28, 1_000),
  slhDsa('shake', 192, 'f', 29, 50),
  slhDsa('shake', 256, 's', 30, 900),
  slhDsa('shake', 256, 'f', 31, 100),
];

/** In the order in which the API lists them. */
export const POST_QUANTUM_KEY_TYPES: readonly PostQuantumKeyType[] = [
  ...new Set(PARAMETER_SETS.map(({ key_type }) => key_type)),
];

export function isPostQuantum(key_type: string): key_type is PostQuantumKeyType {
  return POST_QUANTUM_KEY_TYPES.some((known) => known === key_type);
}

/** Whether the library's key is of such a type. */
export function isPostQuantumKey({ asymmetricKeyType }: KeyObject): boolean {
  return PARAMETER_SETS.some(({ library_type }) => library_type === asymmetricKeyType);
}

/** `key_bits` where none are asked for. */
export const USUAL_BITS = { mldsa: 65, slhdsa: 128 } as const;

/** The set that `key_type` and `key_bits` name; undefined for a size that there is none of. */
export function findParameterSet(
  key_type: PostQuantumKeyType,
  key_bits: number,
): ParameterSet | undefined {
  return PARAMETER_SETS.find((set) => set.key_type === key_type && set.key_bits === key_bits);
}

/** @throws Error for a size that nobody can have asked for */
export function parameterSetOf(key: {
  key_type: PostQuantumKeyType;
  key_bits: number;
}): ParameterSet {
  const set = findParameterSet(key.key_type, key.key_bits);
  if (!set) throw new Error(`no parameters of ${key.key_type} with ${key.key_bits} bits`);
  return set;
}

export function findParameterSetByOid(oid: string): ParameterSet | undefined {
  return PARAMETER_SETS.find((set) => set.oid === oid);
}

/** Sizes of a type, the smallest first. */
export function sizesOf(key_type: PostQuantumKeyType): number[] {
  return PARAMETER_SETS.filter((set) => set.key_type === key_type).map(({ key_bits }) => key_bits);
}
