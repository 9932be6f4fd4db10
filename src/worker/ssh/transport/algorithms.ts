import { certificateType } from '../../../ssh/certificate.ts';
import type { SshPublicKey } from '../../../ssh/public-key.ts';
import { signatureAlgorithms } from '../../../ssh/signature.ts';

// What is offered, the best first. What is not here is not spoken: SHA-1, CBC, RSA keys that sign by
// SHA-1, and groups of less than 2048 bits.

/** Hashes of key exchanges by their names. */
export const KEY_EXCHANGES = {
  'mlkem768x25519-sha256': 'sha256',
  'curve25519-sha256': 'sha256',
  'curve25519-sha256@libssh.org': 'sha256',
  'ecdh-sha2-nistp256': 'sha256',
  'ecdh-sha2-nistp384': 'sha384',
  'ecdh-sha2-nistp521': 'sha512',
  'diffie-hellman-group16-sha512': 'sha512',
  'diffie-hellman-group14-sha256': 'sha256',
} as const;

export type KeyExchangeName = keyof typeof KEY_EXCHANGES;

export interface CipherKind {
  /** Its name in the library. */
  cipher: string;
  key_bytes: number;
  iv_bytes: number;
  /** With a tag of its own; others need a code beside them. */
  isAead: boolean;
}

export const CIPHERS: Readonly<Record<string, CipherKind>> = {
  'aes256-gcm@openssh.com': gcm('aes-256-gcm', 32),
  'aes128-gcm@openssh.com': gcm('aes-128-gcm', 16),
  'aes256-ctr': ctr('aes-256-ctr', 32),
  'aes192-ctr': ctr('aes-192-ctr', 24),
  'aes128-ctr': ctr('aes-128-ctr', 16),
};

export interface MacKind {
  hash: string;
  bytes: number;
  /** Over what was encrypted, rather than over what is. */
  isAfter: boolean;
}

export const MACS: Readonly<Record<string, MacKind>> = {
  'hmac-sha2-256-etm@openssh.com': { hash: 'sha256', bytes: 32, isAfter: true },
  'hmac-sha2-512-etm@openssh.com': { hash: 'sha512', bytes: 64, isAfter: true },
  'hmac-sha2-256': { hash: 'sha256', bytes: 32, isAfter: false },
  'hmac-sha2-512': { hash: 'sha512', bytes: 64, isAfter: false },
};

function gcm(cipher: string, key_bytes: number): CipherKind {
  return { cipher, key_bytes, iv_bytes: 12, isAead: true };
}

function ctr(cipher: string, key_bytes: number): CipherKind {
  return { cipher, key_bytes, iv_bytes: 16, isAead: false };
}

/** What a host can be asked to prove itself by so that it is known by what it shows. */
export function hostKeyAlgorithms(
  keys: readonly SshPublicKey[],
  authorities: readonly SshPublicKey[],
): string[] {
  const plain = new Set(keys.map(({ type }) => type));
  const all = ['ssh-ed25519', 'ecdsa-sha2-nistp256', 'ecdsa-sha2-nistp384', 'ecdsa-sha2-nistp521'];
  const names = [...all, 'ssh-rsa'].flatMap((type) =>
    signatureAlgorithms(type).map((algorithm) => ({ type, algorithm })),
  );
  const certified = authorities.length > 0 ? names : [];
  return [
    ...certified.map(({ algorithm }) => certificateType(algorithm)),
    ...names.filter(({ type }) => plain.has(type)).map(({ algorithm }) => algorithm),
  ];
}
