import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import type { CipherKind, MacKind } from './algorithms.ts';
import { MAC_ERROR, SshFault } from './fault.ts';

/** What protects packets of one direction, by one set of keys. */
export interface PacketKeys {
  kind: CipherKind;
  key: Buffer;
  iv: Buffer;
  /** Absent for a cipher with a tag of its own. */
  mac?: { kind: MacKind; key: Buffer };
}

const TAG_BYTES = 16;
/** Packets by one set of keys (RFC 4344 §3.1): every peer changes them long before. */
export const MOST_PACKETS = 2 ** 31;

/** Encrypts packets: length, padding's length, payload, padding. */
export interface Sealer {
  /** The packet's length is to be a multiple of this, with the length field or without. */
  readonly block: number;
  readonly countsLength: boolean;
  seal(packet: Buffer, sequence: number): Buffer;
}

/** Decrypts them, in two steps. */
export interface Opener {
  /** Bytes that tell a packet's length. */
  readonly head: number;
  /** Bytes behind the packet that prove it. */
  readonly tail: number;
  /** @returns the packet's length without the length field */
  readLength(head: Buffer): number;
  /** @param packet all of it with head and tail; @returns padding's length, payload, padding */
  open(packet: Buffer, sequence: number): Buffer;
}

export const PLAIN_SEALER: Sealer = { block: 8, countsLength: true, seal: (packet) => packet };
export const PLAIN_OPENER: Opener = {
  head: 4,
  tail: 0,
  readLength: (head) => head.readUInt32BE(0),
  open: (packet) => packet.subarray(4),
};

export function sealerOf(keys: PacketKeys): Sealer {
  if (keys.kind.isAead) return new GcmSealer(keys);
  const { mac } = keys;
  if (!mac) throw new Error('a cipher without a MAC');
  return ctrSealer(keys, mac);
}

export function openerOf(keys: PacketKeys): Opener {
  if (keys.kind.isAead) return new GcmOpener(keys);
  const { mac } = keys;
  if (!mac) throw new Error('a cipher without a MAC');
  return mac.kind.isAfter ? ctrOpener(keys, mac) : new OlderCtrOpener(keys, mac);
}

const broken = (): SshFault => new SshFault('a packet was changed on its way', MAC_ERROR);

/** The last eight bytes count packets (RFC 5647 §7.1). */
function countUp(iv: Buffer): void {
  iv.writeBigUInt64BE(BigInt.asUintN(64, iv.readBigUInt64BE(4) + 1n), 4);
}

type GcmName = 'aes-256-gcm';

class GcmSealer implements Sealer {
  readonly block = 16;
  readonly countsLength = false;
  readonly #keys: PacketKeys;

  constructor(keys: PacketKeys) {
    this.#keys = keys;
  }

  seal(packet: Buffer): Buffer {
    const { kind, key, iv } = this.#keys;
    const cipher = createCipheriv(kind.cipher as GcmName, key, iv);
    const length = packet.subarray(0, 4);
    cipher.setAAD(length);
    const encrypted = cipher.update(packet.subarray(4));
    cipher.final();
    countUp(iv);
    return Buffer.concat([length, encrypted, cipher.getAuthTag()]);
  }
}

class GcmOpener implements Opener {
  readonly head = 4;
  readonly tail = TAG_BYTES;
  readonly #keys: PacketKeys;

  constructor(keys: PacketKeys) {
    this.#keys = keys;
  }

  readLength(head: Buffer): number {
    return head.readUInt32BE(0);
  }

  open(packet: Buffer): Buffer {
    const { kind, key, iv } = this.#keys;
    const decipher = createDecipheriv(kind.cipher as GcmName, key, iv, {
      authTagLength: TAG_BYTES,
    });
    const end = packet.length - TAG_BYTES;
    decipher.setAAD(packet.subarray(0, 4));
    decipher.setAuthTag(packet.subarray(end));
    const opened = decipher.update(packet.subarray(4, end));
    try {
      decipher.final();
    } catch {
      throw broken();
    }
    countUp(iv);
    return opened;
  }
}

type Mac = NonNullable<PacketKeys['mac']>;

function codeOf({ kind, key }: Mac, sequence: number, bytes: readonly Buffer[]): Buffer {
  const hmac = createHmac(kind.hash, key);
  const number = Buffer.allocUnsafe(4);
  number.writeUInt32BE(sequence);
  hmac.update(number);
  for (const part of bytes) hmac.update(part);
  return hmac.digest();
}

function requireCode(mac: Mac, sequence: number, bytes: readonly Buffer[], code: Buffer): void {
  if (!timingSafeEqual(codeOf(mac, sequence, bytes), code)) throw broken();
}

function ctrSealer({ kind, key, iv }: PacketKeys, mac: Mac): Sealer {
  const cipher = createCipheriv(kind.cipher, key, iv);
  const { isAfter } = mac.kind;
  return {
    block: 16,
    countsLength: !isAfter,
    seal(packet, sequence) {
      if (!isAfter) {
        const code = codeOf(mac, sequence, [packet]);
        return Buffer.concat([cipher.update(packet), code]);
      }
      const length = packet.subarray(0, 4);
      const encrypted = cipher.update(packet.subarray(4));
      return Buffer.concat([length, encrypted, codeOf(mac, sequence, [length, encrypted])]);
    },
  };
}

function ctrOpener({ kind, key, iv }: PacketKeys, mac: Mac): Opener {
  const decipher = createDecipheriv(kind.cipher, key, iv);
  const tail = mac.kind.bytes;
  return {
    head: 4,
    tail,
    readLength: (head) => head.readUInt32BE(0),
    open(packet, sequence) {
      const end = packet.length - tail;
      requireCode(mac, sequence, [packet.subarray(0, end)], packet.subarray(end));
      return decipher.update(packet.subarray(4, end));
    },
  };
}

/** The length is encrypted, too: the first block is opened before the rest is there. */
class OlderCtrOpener implements Opener {
  readonly head = 16;
  readonly tail: number;
  readonly #decipher: ReturnType<typeof createDecipheriv>;
  readonly #mac: Mac;
  #first: Buffer = Buffer.alloc(0);

  constructor({ kind, key, iv }: PacketKeys, mac: Mac) {
    this.#decipher = createDecipheriv(kind.cipher, key, iv);
    this.#mac = mac;
    this.tail = mac.kind.bytes;
  }

  readLength(head: Buffer): number {
    this.#first = this.#decipher.update(head);
    return this.#first.readUInt32BE(0);
  }

  open(packet: Buffer, sequence: number): Buffer {
    const end = packet.length - this.tail;
    const rest = this.#decipher.update(packet.subarray(this.head, end));
    const opened = Buffer.concat([this.#first, rest]);
    requireCode(this.#mac, sequence, [opened], packet.subarray(end));
    return opened.subarray(4);
  }
}
