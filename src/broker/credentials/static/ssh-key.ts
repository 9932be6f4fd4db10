import { createDecipheriv, hash, type KeyObject } from 'node:crypto';
import { Failure } from '../../../core/failure.ts';
import { readPrivateKeyFile } from '../../../ssh/private-key-file.ts';
import { isPrivateSection, readPrivateSection } from '../../../ssh/private-section.ts';
import { WireReader } from '../../../ssh/wire.ts';
import { isPostQuantumKey } from '../../../x509/post-quantum.ts';
import { parsePrivateKeyBlock } from '../../../x509/private-keys.ts';

/**
 * What can be said of an SSH private key by its form. `locked`: whether the passphrase opens it
 * takes a slow derivation, see {@link LockedKey}.
 */
type SshKeyVerdict = { kind: 'open' } | ClosedKey;

type ClosedKey =
  | { kind: 'locked'; key: LockedKey }
  | { kind: 'wrong_passphrase' }
  | { kind: 'unusable'; because: string };

/** With the key itself, where nothing has to be derived first; undefined for one of a kind that is not used here. */
type ReadKey = { kind: 'open'; key: KeyObject | undefined } | ClosedKey;

/** An encrypted key in the format of OpenSSH (`PROTOCOL.key`). */
export interface LockedKey {
  cipher: 'aes256-ctr' | 'aes256-cbc';
  salt: Uint8Array;
  rounds: number;
  encrypted: Uint8Array;
}

/** Bytes of key and initialisation vector that open a {@link LockedKey}. */
export const UNLOCK_LENGTH = 48;
/** ssh-keygen takes 16 to 24 unless told otherwise; each costs some milliseconds. */
const MOST_ROUNDS = 64;
const MOST_TEXT = 64 << 10;

const BEGIN = /-----BEGIN ([A-Z0-9 ]{1,64})-----\r?\n/g;
/** Blocks without an end that may stand before the key. */
const MOST_UNENDED = 16;

const NO_KEY = 'ssh: no key found';
const LOCKED = 'ssh: this private key is passphrase protected';
const BROKEN = 'ssh: the key is not well-formed';

const unusable = (because: string): ClosedKey => ({ kind: 'unusable', because });

/**
 * Judges a private key's PEM text: PKCS#1, SEC 1, PKCS#8 or OpenSSH, encrypted by the older way
 * of PEM or by OpenSSH's.
 *
 * @param passphrase empty for none
 */
export function judgeSshKey(pem: string, passphrase: string): SshKeyVerdict {
  const read = readSshKey(pem, passphrase);
  return read.kind === 'open' ? { kind: 'open' } : read;
}

/** As {@link judgeSshKey}, with the key. */
export function readSshKey(pem: string, passphrase: string): ReadKey {
  if (pem.length > MOST_TEXT) return unusable('ssh: the key is too long');
  const { label, body } = firstBlock(pem);
  switch (label) {
    case '':
      return unusable(NO_KEY);
    case 'OPENSSH PRIVATE KEY':
      return readOpenSsh(Buffer.from(body, 'base64'), passphrase);
    case 'PRIVATE KEY':
    case 'RSA PRIVATE KEY':
    case 'EC PRIVATE KEY':
      return readClassic(label, body, passphrase);
    default:
      return unusable(`ssh: unsupported key type "${label}"`);
  }
}

/** The first block of a PEM text that has an end; an empty label where there is none. */
function firstBlock(pem: string): { label: string; body: string } {
  let missed = 0;
  for (const { 1: label = '', index, 0: line } of pem.matchAll(BEGIN)) {
    const start = index + line.length;
    const end = pem.indexOf(`-----END ${label}-----`, start);
    if (end >= 0) return { label, body: pem.slice(start, end) };
    // Each search that finds nothing has read the whole text.
    if (++missed === MOST_UNENDED) break;
  }
  return { label: '', body: '' };
}

const ENCRYPTED =
  /^\s*Proc-Type:\s*4,\s*ENCRYPTED\r?\nDEK-Info:\s*([A-Z0-9-]{1,16}),([0-9A-Fa-f]{16,32})\r?\n/;
const BASE64 = /^[A-Za-z0-9+/=\s]*$/;

// The library would read the text by rules of its own, and open with the passphrase whatever it took
// for the key: for as many rounds of PBKDF2 as the sender wrote there. So it is given bytes alone,
// decrypted here by the older way of PEM, which has one round.
function readClassic(label: string, body: string, passphrase: string): ReadKey {
  const [header = '', cipher = '', iv = ''] = ENCRYPTED.exec(body) ?? [];
  if (header === '' && body.includes('Proc-Type')) return unusable(BROKEN);
  if (header !== '' && passphrase === '') return unusable(LOCKED);
  const text = body.slice(header.length);
  if (!BASE64.test(text)) return unusable(BROKEN);
  const bytes = Buffer.from(text, 'base64');
  if (header === '') return readDer(label, bytes);
  if (!PEM_CIPHERS.has(cipher)) return unusable(UNKNOWN_PEM_CIPHER);
  const opened = openPem({ cipher, iv: Buffer.from(iv, 'hex'), bytes }, passphrase);
  // A wrong passphrase shows as broken padding or, one time in some hundred, as no key.
  const read = opened && readDer(label, opened);
  return read?.kind === 'open' ? read : { kind: 'wrong_passphrase' };
}

/** Also what would make the library calculate is refused: keys of other kinds, numbers too long. */
function readDer(label: string, der: Uint8Array): ReadKey {
  try {
    // SSH has no keys of ML-DSA or SLH-DSA.
    const key = parsePrivateKeyBlock({ label, der });
    return isPostQuantumKey(key) ? unusable(BROKEN) : { kind: 'open', key };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return unusable(BROKEN);
  }
}

/** Bytes of key, by the name in `DEK-Info`. */
const PEM_CIPHERS: ReadonlyMap<string, number> = new Map([
  ['AES-128-CBC', 16],
  ['AES-192-CBC', 24],
  ['AES-256-CBC', 32],
  ['DES-EDE3-CBC', 24],
]);
const UNKNOWN_PEM_CIPHER = `ssh: unknown cipher: ${[...PEM_CIPHERS.keys()].join(', ')} are accepted`;

/** RFC 1421 §4.6.1.3 as everybody does it: MD5 of passphrase and salt, again until it is enough. */
function openPem(
  { cipher, iv, bytes }: { cipher: string; iv: Buffer; bytes: Buffer },
  passphrase: string,
): Uint8Array | undefined {
  const length = PEM_CIPHERS.get(cipher) ?? 0;
  const secret = Buffer.concat([Buffer.from(passphrase), iv.subarray(0, 8)]);
  let key: Buffer = Buffer.alloc(0);
  let last: Buffer = key;
  while (key.length < length) {
    last = hash('md5', Buffer.concat([last, secret]), 'buffer');
    key = Buffer.concat([key, last]);
  }
  try {
    const decipher = createDecipheriv(cipher, key.subarray(0, length), iv);
    return Buffer.concat([decipher.update(bytes), decipher.final()]);
  } catch {
    return undefined;
  } finally {
    for (const part of [secret, key, last]) part.fill(0);
  }
}

function readOpenSsh(bytes: Uint8Array, passphrase: string): ReadKey {
  const file = readPrivateKeyFile(bytes);
  if (!file) return unusable(BROKEN);
  const { cipher, kdf, section } = file;
  const options = new WireReader(file.options);
  if (cipher === 'none' && kdf === 'none') {
    return isPrivateSection(section)
      ? { kind: 'open', key: readPrivateSection(section) }
      : unusable(BROKEN);
  }
  if (kdf !== 'bcrypt' || (cipher !== 'aes256-ctr' && cipher !== 'aes256-cbc')) {
    return unusable('ssh: unknown cipher: aes256-ctr and aes256-cbc with bcrypt are accepted');
  }
  if (passphrase === '') return unusable(LOCKED);
  const salt = options.string();
  const rounds = options.uint32();
  if (options.failed || salt.length === 0 || section.length % 16 !== 0 || section.length === 0) {
    return unusable(BROKEN);
  }
  if (rounds < 1 || rounds > MOST_ROUNDS) {
    return unusable(
      `ssh: the key takes ${rounds} rounds to open, at most ${MOST_ROUNDS} are accepted`,
    );
  }
  return { kind: 'locked', key: { cipher, salt, rounds, encrypted: section } };
}

/** Whether the derived bytes open the key: then the two check numbers in it are alike. */
export function canUnlock(locked: LockedKey, derived: Uint8Array): boolean {
  const opened = decrypt(locked, derived);
  const fine = isPrivateSection(opened);
  opened.fill(0);
  return fine;
}

/** A key that {@link canUnlock}; undefined for one of a kind that is not used here. */
export function unlock(locked: LockedKey, derived: Uint8Array): KeyObject | undefined {
  const opened = decrypt(locked, derived);
  try {
    return isPrivateSection(opened) ? readPrivateSection(opened) : undefined;
  } finally {
    opened.fill(0);
  }
}

function decrypt(locked: LockedKey, derived: Uint8Array): Buffer {
  const decipher = createDecipheriv(
    locked.cipher === 'aes256-ctr' ? 'aes-256-ctr' : 'aes-256-cbc',
    derived.subarray(0, 32),
    derived.subarray(32, UNLOCK_LENGTH),
  );
  decipher.setAutoPadding(false);
  return Buffer.concat([decipher.update(locked.encrypted), decipher.final()]);
}
