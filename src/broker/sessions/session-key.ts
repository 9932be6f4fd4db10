import { createPrivateKey, type KeyObject } from 'node:crypto';

/** The private key of a session, from its seed: the first 32 bytes (RFC 8032 §5.1.5). */
export function sessionKey(seed: Uint8Array): KeyObject {
  return createPrivateKey({
    key: Buffer.from(seed.subarray(0, 32)),
    format: 'raw-private',
    asymmetricKeyType: 'ed25519',
  });
}
