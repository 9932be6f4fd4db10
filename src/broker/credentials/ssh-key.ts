import { createDecipheriv, createPrivateKey } from 'node:crypto';

/**
 * What can be said of an SSH private key by its form. `locked`: whether the passphrase opens it
 * takes a slow derivation, see {@link LockedKey}.
 */
export type SshKeyVerdict =
  | { kind: 'open' }
  | { kind: 'locked'; key: LockedKey }
  | { kind: 'wrong_passphrase' }
  | { kind: 'unusable'; because: string };

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
const MAGIC = 'openssh-key-v1\0';

const BEGIN = /-----BEGIN ([A-Z0-9 ]{1,64})-----\r?\n/g;
/** Blocks without an end that may stand before the key. */
const MOST_UNENDED = 16;

const NO_KEY = 'ssh: no key found';
const LOCKED = 'ssh: this private key is passphrase protected';
const BROKEN = 'ssh: the key is not well-formed';

const unusable = (because: string): SshKeyVerdict => ({ kind: 'unusable', because });

/**
 * Judges a private key's PEM text: PKCS#1, SEC 1, PKCS#8 or OpenSSH, encrypted by the older way
 * of PEM or by OpenSSH's.
 *
 * @param passphrase empty for none
 */
export function judgeSshKey(pem: string, passphrase: string): SshKeyVerdict {
  if (pem.length > MOST_TEXT) return unusable('ssh: the key is too long');
  const { label, body } = firstBlock(pem);
  switch (label) {
    case '':
      return unusable(NO_KEY);
    case 'OPENSSH PRIVATE KEY':
      return judgeOpenSsh(Buffer.from(body, 'base64'), passphrase);
    case 'PRIVATE KEY':
    case 'RSA PRIVATE KEY':
    case 'EC PRIVATE KEY':
      return judgeClassic(pem, /^Proc-Type:\s*4,\s*ENCRYPTED/m.test(body), passphrase);
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

function judgeClassic(pem: string, encrypted: boolean, passphrase: string): SshKeyVerdict {
  if (encrypted && passphrase === '') return unusable(LOCKED);
  try {
    const key = createPrivateKey({ key: pem, format: 'pem', ...(encrypted && { passphrase }) });
    const type = key.asymmetricKeyType ?? '';
    if (!['rsa', 'ec', 'ed25519'].includes(type)) {
      return unusable('ssh: unsupported key type: RSA, ECDSA and Ed25519 are accepted');
    }
    return { kind: 'open' };
  } catch {
    // The library's own words may quote the input. A wrong passphrase shows as broken padding or,
    // one time in some hundred, as a key that cannot be read.
    return encrypted ? { kind: 'wrong_passphrase' } : unusable(BROKEN);
  }
}

function judgeOpenSsh(bytes: Uint8Array, passphrase: string): SshKeyVerdict {
  const read = new WireReader(bytes);
  if (read.text(MAGIC.length) !== MAGIC) return unusable(BROKEN);
  const cipher = read.string().toString('latin1');
  const kdf = read.string().toString('latin1');
  const options = new WireReader(read.string());
  const count = read.uint32();
  read.string();
  const section = read.string();
  if (read.failed || count !== 1) return unusable(BROKEN);
  if (cipher === 'none' && kdf === 'none') {
    return isPrivateSection(section) ? { kind: 'open' } : unusable(BROKEN);
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
  const decipher = createDecipheriv(
    locked.cipher === 'aes256-ctr' ? 'aes-256-ctr' : 'aes-256-cbc',
    derived.subarray(0, 32),
    derived.subarray(32, UNLOCK_LENGTH),
  );
  decipher.setAutoPadding(false);
  const opened = Buffer.concat([decipher.update(locked.encrypted), decipher.final()]);
  const fine = isPrivateSection(opened);
  opened.fill(0);
  return fine;
}

const KEY_TYPES = /^(ssh-rsa|ssh-ed25519|ecdsa-sha2-nistp(256|384|521)|sk-.*|ssh-dss)$/;

function isPrivateSection(section: Uint8Array): boolean {
  const read = new WireReader(section);
  const check = read.uint32();
  const again = read.uint32();
  const type = read.string().toString('latin1');
  return !read.failed && check === again && KEY_TYPES.test(type);
}

/** Reads the SSH wire format (RFC 4251 §5); after a mistake everything is empty. */
class WireReader {
  readonly #bytes: Buffer;
  #at = 0;
  failed = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  uint32(): number {
    const part = this.#take(4);
    return part.length === 4 ? part.readUInt32BE(0) : 0;
  }

  string(): Buffer {
    return this.#take(this.uint32());
  }

  text(length: number): string {
    return this.#take(length).toString('latin1');
  }

  #take(length: number): Buffer {
    if (this.failed || this.#at + length > this.#bytes.length) {
      this.failed = true;
      return Buffer.alloc(0);
    }
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
