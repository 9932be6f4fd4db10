// The SSH wire format (RFC 4251 §5).

/** Reads it; after a mistake everything is empty. */
export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;
  failed = false;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Bytes that were read so far. */
  get position(): number {
    return this.#at;
  }

  /** Whether nothing is left, and nothing was missing. */
  get isDone(): boolean {
    return !this.failed && this.#at === this.#bytes.length;
  }

  byte(): number {
    return this.take(1)[0] ?? 0;
  }

  boolean(): boolean {
    return this.byte() !== 0;
  }

  uint32(): number {
    const part = this.take(4);
    return part.length === 4 ? part.readUInt32BE(0) : 0;
  }

  uint64(): bigint {
    const part = this.take(8);
    return part.length === 8 ? part.readBigUInt64BE(0) : 0n;
  }

  string(): Buffer {
    return this.take(this.uint32());
  }

  /** A string of characters that stand for bytes. */
  name(): string {
    return this.string().toString('latin1');
  }

  utf8(): string {
    return this.string().toString('utf8');
  }

  /** A whole number that is not negative, without leading zeros, however many it came with. */
  mpint(): Buffer {
    const bytes = this.string();
    if ((bytes[0] ?? 0) >= 0x80) this.failed = true;
    let start = 0;
    while (bytes[start] === 0) start++;
    return bytes.subarray(start);
  }

  names(): string[] {
    const list = this.name();
    return list === '' ? [] : list.split(',');
  }

  text(length: number): string {
    return this.take(length).toString('latin1');
  }

  take(length: number): Buffer {
    if (this.failed || this.#at + length > this.#bytes.length) {
      this.failed = true;
      return Buffer.alloc(0);
    }
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}

export function encodeUint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function encodeUint64(value: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

/** With its length before it; a text as UTF-8. */
export function encodeString(value: Uint8Array | string): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
  return Buffer.concat([encodeUint32(bytes.length), bytes]);
}

/** @param bytes a whole number that is not negative */
export function encodeMpint(bytes: Uint8Array): Buffer {
  let start = 0;
  while (start < bytes.length && bytes[start] === 0) start++;
  const bare = bytes.subarray(start);
  // A leading one bit would be a sign.
  return encodeString((bare[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bare]) : bare);
}

export const encodeNames = (names: readonly string[]): Buffer => encodeString(names.join(','));

export const encodeBoolean = (value: boolean): Buffer => Buffer.of(value ? 1 : 0);
