import { createHash, createPrivateKey, type KeyObject } from 'node:crypto';
import { signSync } from '../../../x509/algorithms.ts';
import { assembleSigned, encodeTbsCertificate } from '../../../x509/certificate.ts';
import {
  basicConstraints,
  type Extension,
  subjectKeyIdentifier,
} from '../../../x509/extensions.ts';
import { keyUsage } from '../../../x509/key-usages.ts';
import { keyIdentifier, publicKeyInfo } from '../../../x509/keys.ts';
import { encodeSubject } from '../../../x509/names.ts';

/** Random bytes that {@link makeRoot} takes: a seed and a serial. */
export const ROOT_RANDOMNESS = 32 + 16;

export interface Root {
  /** DER. */
  certificate: Uint8Array;
  /** Lower-case hex. */
  public_key_sha256: string;
  not_before_ms: number;
  not_after_ms: number;
  /** The 32 bytes that an Ed25519 key is (RFC 8032 §5.1.5). */
  seed: Uint8Array;
}

/** What all roots are called. */
export const ROOT_NAME = 'Gatehouse worker root';

const DAY_MS = 86_400_000;
/** How long a root is in force, and how long before that of the one before it ends. */
export const ROOT_MS = 365 * DAY_MS;
export const OVERLAP_MS = ROOT_MS / 2;
const BACKDATE_MS = 5 * 60_000;

const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Makes a root that workers are enrolled under: Ed25519, self-signed, for certificates alone. */
export function makeRoot(random: Uint8Array, from_ms: number): Root {
  const seed = random.slice(0, 32);
  const serial = random.slice(32, ROOT_RANDOMNESS);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const key = rootKey(seed);
  const subjectPublicKeyInfo = publicKeyInfo(key);
  const name = encodeSubject({ common_name: ROOT_NAME });
  // Certificates count in seconds.
  const notBefore = Math.floor((from_ms - BACKDATE_MS) / 1000);
  const notAfter = Math.floor((from_ms + ROOT_MS) / 1000);
  const extensions: (Extension | undefined)[] = [
    basicConstraints({ ca: true }),
    keyUsage(['CertSign']),
    subjectKeyIdentifier(keyIdentifier(subjectPublicKeyInfo)),
  ];
  const tbs = encodeTbsCertificate({
    serialNumber: serial,
    signatureAlgorithm: 'PureEd25519',
    issuer: name,
    subject: name,
    notBefore,
    notAfter,
    subjectPublicKeyInfo,
    extensions: extensions.filter((extension) => extension !== undefined),
  });
  return {
    certificate: assembleSigned(tbs, 'PureEd25519', signSync(key, 'PureEd25519', tbs)),
    public_key_sha256: createHash('sha256').update(subjectPublicKeyInfo).digest('hex'),
    not_before_ms: notBefore * 1000,
    not_after_ms: notAfter * 1000,
    seed,
  };
}

export function rootKey(seed: Uint8Array): KeyObject {
  return createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, seed]),
    format: 'der',
    type: 'pkcs8',
  });
}
