import { type KeyObject, sign, verify } from 'node:crypto';
import type { SshPublicKey } from './public-key.ts';
import { encodeMpint, encodeString, WireReader } from './wire.ts';

/** Algorithms of signatures by the type of key that makes them, the best first (RFC 8332, RFC 8709). */
const ALGORITHMS: Readonly<Record<string, readonly string[]>> = {
  'ssh-ed25519': ['ssh-ed25519'],
  'ecdsa-sha2-nistp256': ['ecdsa-sha2-nistp256'],
  'ecdsa-sha2-nistp384': ['ecdsa-sha2-nistp384'],
  'ecdsa-sha2-nistp521': ['ecdsa-sha2-nistp521'],
  // SHA-1 is not among them: `ssh-rsa` names the key only.
  'ssh-rsa': ['rsa-sha2-512', 'rsa-sha2-256'],
};

/** Ed25519 hashes by itself. */
const HASHES: Readonly<Record<string, string | undefined>> = {
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
  'rsa-sha2-256': 'sha256',
  'rsa-sha2-512': 'sha512',
};

export const signatureAlgorithms = (key_type: string): readonly string[] =>
  ALGORITHMS[key_type] ?? [];

/** @param algorithm one of {@link signatureAlgorithms} of the key's type */
export function signSsh(key: KeyObject, algorithm: string, data: Uint8Array): Buffer {
  return encodeSignature(
    algorithm,
    sign(HASHES[algorithm] ?? null, data, { key, dsaEncoding: 'ieee-p1363' }),
  );
}

/** As {@link signSsh}, on a thread of the pool: with RSA it takes milliseconds. */
export function signSshAside(key: KeyObject, algorithm: string, data: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { key, dsaEncoding: 'ieee-p1363' } as const;
    sign(HASHES[algorithm] ?? null, data, options, (error, made) =>
      error ? reject(error) : resolve(encodeSignature(algorithm, made)),
    );
  });
}

function encodeSignature(algorithm: string, made: Buffer): Buffer {
  const half = made.length / 2;
  const signature = algorithm.startsWith('ecdsa-')
    ? Buffer.concat([encodeMpint(made.subarray(0, half)), encodeMpint(made.subarray(half))])
    : made;
  return Buffer.concat([encodeString(algorithm), encodeString(signature)]);
}

/** Whether a signature is the key's, by one of the algorithms that it may be made with. */
export function verifySsh(
  { type, key }: Pick<SshPublicKey, 'type' | 'key'>,
  data: Uint8Array,
  signature: Uint8Array,
): { valid: boolean; algorithm: string } {
  const read = new WireReader(signature);
  const algorithm = read.name();
  const given = read.string();
  const refused = { valid: false, algorithm };
  if (!read.isDone || !signatureAlgorithms(type).includes(algorithm)) return refused;
  const bytes = algorithm.startsWith('ecdsa-') ? bareEcdsa(given, key) : given;
  if (!bytes) return refused;
  const options = { key, dsaEncoding: 'ieee-p1363' } as const;
  return { valid: verify(HASHES[algorithm] ?? null, data, options, bytes), algorithm };
}

/** Both numbers, each as long as a coordinate (RFC 5656 §3.1.2). */
function bareEcdsa(signature: Buffer, key: KeyObject): Buffer | undefined {
  const read = new WireReader(signature);
  const [r, s] = [read.mpint(), read.mpint()];
  const curve = key.asymmetricKeyDetails?.namedCurve ?? '';
  const length = { prime256v1: 32, secp384r1: 48, secp521r1: 66 }[curve] ?? 0;
  if (!read.isDone || r.length > length || s.length > length) return undefined;
  const bare = Buffer.alloc(2 * length);
  r.copy(bare, length - r.length);
  s.copy(bare, 2 * length - s.length);
  return bare;
}
