import { createDecipheriv, createHmac, type DecipherGCM } from 'node:crypto';
import { mayBeSlow } from '../../../x509/slow-certificates.ts';
import { slowCertificate, VaultFault } from './answer.ts';
import { tooLong } from './coming.ts';

/** Of a record: its type, its version, and the length of what follows. */
const HEADER = 5;
/** Types of records. */
const HANDSHAKE = 22;
const APPLICATION_DATA = 23;
/** Of a message: its type, and the length of what follows. */
const MESSAGE_HEADER = 4;
const CERTIFICATE = 11;
const SERVER_HELLO_DONE = 14;
const FINISHED = 20;
const COMPRESSED_CERTIFICATE = 25;
/** The first byte of the version of any record. */
const MAJOR_VERSION = 3;
/** Of an encrypted record, its last bytes. */
const TAG = 16;

/** By which a server encrypts its handshake in TLS 1.3. */
export interface HandshakeSecret {
  /** As standards name it, e.g. `TLS_AES_128_GCM_SHA256`. */
  suite: string;
  secret: Buffer;
}

interface Suite {
  hash: 'sha256' | 'sha384';
  key_bytes: number;
  decipher(
    key: Buffer,
    nonce: Buffer,
  ): Pick<DecipherGCM, 'setAAD' | 'setAuthTag' | 'update' | 'final'>;
}

/** Those that this server offers. @see RFC 8446 §B.4 */
const SUITES: Readonly<Record<string, Suite>> = {
  TLS_AES_128_GCM_SHA256: {
    hash: 'sha256',
    key_bytes: 16,
    decipher: (key, nonce) => createDecipheriv('aes-128-gcm', key, nonce, { authTagLength: TAG }),
  },
  TLS_AES_256_GCM_SHA384: {
    hash: 'sha384',
    key_bytes: 32,
    decipher: (key, nonce) => createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG }),
  },
  TLS_CHACHA20_POLY1305_SHA256: {
    hash: 'sha256',
    key_bytes: 32,
    decipher: (key, nonce) =>
      createDecipheriv('chacha20-poly1305', key, nonce, { authTagLength: TAG }),
  },
};

/**
 * The secret in a line that the TLS library tells its keys by; undefined for one with another.
 *
 * @param suite asked for that line alone
 * @see RFC 9850 §2
 */
export function findHandshakeSecret(
  line: Buffer,
  suite: () => string,
): HandshakeSecret | undefined {
  const [name, , secret = ''] = line.toString('latin1').trim().split(' ');
  if (name !== 'SERVER_HANDSHAKE_TRAFFIC_SECRET') return undefined;
  return { suite: suite(), secret: Buffer.from(secret, 'hex') };
}

/**
 * What a server sends until it has shaken hands, looked at before the TLS library decodes it: a certificate of 650
 * bytes whose key describes a curve of its own takes the library a third of a second, one of 20 KiB whose CRL distribution
 * points have relative names seconds, and nothing interrupts it.
 *
 * @see RFC 8446 §4, §5; RFC 5246 §6, §7.4 for TLS 1.2, where certificates are not encrypted
 */
export class ServerFlight {
  readonly #most: number;
  /** Came, and may not be handed on yet. */
  #held: Buffer = Buffer.alloc(0);
  /** The beginning of a message. */
  #begun: Buffer = Buffer.alloc(0);
  #secret: HandshakeSecret | undefined;
  #open: ((record: Buffer) => Buffer) | undefined;
  #isOver = false;

  /** @param most bytes that are held */
  constructor(most: number) {
    this.#most = most;
  }

  /** What of all that came may be handed on. @throws VaultFault `untrusted`, `malformed` */
  clear(come: Buffer): Buffer {
    const all = this.#held.length === 0 ? come : Buffer.concat([this.#held, come]);
    const clear = this.#countClear(all);
    this.#held = all.subarray(clear);
    if (this.#held.length > this.#most) throw tooLong();
    return all.subarray(0, clear);
  }

  /** By which what comes next is encrypted. */
  learn(secret: HandshakeSecret): void {
    this.#begun = Buffer.alloc(0);
    this.#secret = secret;
  }

  #countClear(all: Buffer): number {
    let at = 0;
    while (!this.#isOver) {
      const begin = at + HEADER;
      if (all.length < begin) return at;
      // What is read as a length may never come of something else, as of a greeting.
      if (all[at + 1] !== MAJOR_VERSION) throw noTls();
      const end = begin + all.readUInt16BE(begin - 2);
      if (all.length < end || !this.#look(all.subarray(at, end))) return at;
      at = end;
    }
    return all.length;
  }

  /** @returns whether it may be handed on; of what is encrypted, not before the key is known */
  #look(record: Buffer): boolean {
    if (record[0] === HANDSHAKE) this.#read(record.subarray(HEADER));
    if (record[0] !== APPLICATION_DATA) return true;
    if (!this.#secret) return false;
    this.#open ??= opener(this.#secret);
    const inner = this.#open(record);
    // Its type stands behind it, before zeros that hide its length.
    const end = inner.findLastIndex((byte) => byte !== 0);
    if (inner[end] === HANDSHAKE) this.#read(inner.subarray(0, end));
    return true;
  }

  #read(part: Buffer): void {
    this.#begun = Buffer.concat([this.#begun, part]);
    while (this.#begun.length >= MESSAGE_HEADER) {
      const end = MESSAGE_HEADER + this.#begun.readUIntBE(1, 3);
      if (this.#begun.length < end) return;
      const message = this.#begun.subarray(0, end);
      this.#begun = this.#begun.subarray(end);
      if (message[0] === COMPRESSED_CERTIFICATE) throw compressed();
      if (message[0] === CERTIFICATE && mayBeSlow(certificatesOf(message, this.#secret))) {
        throw slowCertificate();
      }
      // The last that can be read, in TLS 1.3 and before; a certificate behind it would end the handshake.
      if (message[0] === (this.#secret ? FINISHED : SERVER_HELLO_DONE)) this.#isOver = true;
    }
  }
}

/**
 * Those of a server's chain.
 *
 * @param secret in TLS 1.3, where a context stands before them, and extensions behind each
 * @see RFC 8446 §4.4.2; RFC 5246 §7.4.2
 */
function certificatesOf(message: Buffer, secret: HandshakeSecret | undefined): Buffer[] {
  const context = secret ? 1 + (message[MESSAGE_HEADER] ?? 0) : 0;
  const list = new Lengths(message.subarray(MESSAGE_HEADER + context)).take(3);
  const found: Buffer[] = [];
  const entries = new Lengths(list);
  while (!entries.isEmpty) {
    found.push(entries.take(3));
    if (secret) entries.take(2);
  }
  return found;
}

/** Vectors of TLS, one behind the other, each with its length before it. */
class Lengths {
  #left: Buffer;

  constructor(bytes: Buffer) {
    this.#left = bytes;
  }

  get isEmpty(): boolean {
    return this.#left.length === 0;
  }

  /** @param size of the length in bytes */
  take(size: 2 | 3): Buffer {
    const length = this.#left.length < size ? Infinity : this.#left.readUIntBE(0, size);
    if (size + length > this.#left.length) throw misshapen();
    const vector = this.#left.subarray(size, size + length);
    this.#left = this.#left.subarray(size + length);
    return vector;
  }
}

const misshapen = (): VaultFault =>
  new VaultFault('malformed', 'the Vault server shows its certificates in no form of TLS');

const noTls = (): VaultFault =>
  new VaultFault('unreachable', 'what answers in place of the Vault server does not speak TLS');

/** None is asked for, and what is in it cannot be seen here. @see RFC 8879 §4 */
const compressed = (): VaultFault =>
  new VaultFault('malformed', 'the Vault server compressed its certificate, unasked');

/**
 * @throws VaultFault for a cipher that was not offered
 * @see RFC 8446 §5.2, §5.3, §7.3
 */
function opener({ suite, secret }: HandshakeSecret): (record: Buffer) => Buffer {
  const known = SUITES[suite];
  if (!known) throw new VaultFault('malformed', 'the Vault server chose a cipher of its own');
  const key = expand(known, secret, 'key', known.key_bytes);
  const iv = expand(known, secret, 'iv', 12);
  let sequence = 0;
  return (record) => {
    const nonce = Buffer.from(iv);
    // No server sends four billion records before its certificate.
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ sequence++) >>> 0, 8);
    const decipher = known.decipher(key, nonce);
    try {
      decipher.setAAD(record.subarray(0, HEADER));
      decipher.setAuthTag(record.subarray(-TAG));
      const inner = decipher.update(record.subarray(HEADER, -TAG));
      decipher.final();
      return inner;
    } catch {
      throw new VaultFault('malformed', 'what the Vault server encrypted cannot be decrypted');
    }
  };
}

/** HKDF-Expand-Label, of no more than one block. @see RFC 8446 §7.1 */
function expand({ hash }: Suite, secret: Buffer, label: string, bytes: number): Buffer {
  const full = `tls13 ${label}`;
  const info = Buffer.concat([
    Buffer.of(0, bytes, full.length),
    Buffer.from(full, 'latin1'),
    // No context, and the number of the block.
    Buffer.of(0, 1),
  ]);
  return createHmac(hash, secret).update(info).digest().subarray(0, bytes);
}
