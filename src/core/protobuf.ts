/** Protocol Buffers, the binary encoding: what the broker's tokens and handshakes are made of. */

const VARINT = 0;
const LENGTH = 2;

/** Writes fields in the order of the calls. What is empty or zero is left out, as proto3 does. */
export class ProtobufWriter {
  readonly #parts: Uint8Array[] = [];
  #length = 0;

  string(field: number, value: string): this {
    return value === '' ? this : this.#delimited(field, Buffer.from(value, 'utf8'));
  }

  bytes(field: number, value: Uint8Array): this {
    return value.length === 0 ? this : this.#delimited(field, value);
  }

  /** A whole number of any of the plain kinds (int32, int64, uint32, bool, enum). */
  integer(field: number, value: number): this {
    if (value === 0) return this;
    this.#add(varint((field << 3) | VARINT));
    this.#add(varint(value));
    return this;
  }

  /** A nested message; written even when it is empty. */
  message(field: number, value: ProtobufWriter): this {
    return this.#delimited(field, value.finish());
  }

  /** Bytes of all fields. */
  finish(): Uint8Array {
    return Buffer.concat(this.#parts, this.#length);
  }

  #delimited(field: number, value: Uint8Array): this {
    this.#add(varint((field << 3) | LENGTH));
    this.#add(varint(value.length));
    this.#add(value);
    return this;
  }

  #add(part: Uint8Array): void {
    this.#parts.push(part);
    this.#length += part.length;
  }
}

/** Seven bits a byte, the lowest first; a negative number as 64 bits in two's complement. */
function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  if (value < 0) {
    let rest = BigInt.asUintN(64, BigInt(value));
    for (; rest > 0x7fn; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    return Uint8Array.from(bytes);
  }
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  bytes.push(rest);
  return Uint8Array.from(bytes);
}

/** Thrown for bytes that are no message. */
export class ProtobufError extends Error {}

/** The fields of a message, by number; of one that comes twice the last holds for single values. */
export class ProtobufFields {
  readonly #fields = new Map<number, (bigint | Uint8Array)[]>();

  /** @throws ProtobufError */
  constructor(bytes: Uint8Array) {
    let at = 0;
    const readVarint = (): bigint => {
      let value = 0n;
      for (let shift = 0n; shift < 70n; shift += 7n) {
        const byte = bytes[at];
        if (byte === undefined) break;
        at += 1;
        value |= BigInt(byte & 0x7f) << shift;
        if (byte < 0x80) return BigInt.asUintN(64, value);
      }
      throw new ProtobufError('a number that does not end');
    };
    const take = (length: number): Uint8Array => {
      if (length > bytes.length - at) throw new ProtobufError('a field longer than its message');
      at += length;
      return bytes.subarray(at - length, at);
    };
    while (at < bytes.length) {
      const tag = readVarint();
      const field = Number(tag >> 3n);
      if (field < 1 || field > 0x1fffffff) throw new ProtobufError(`no field is number ${field}`);
      const value = readValue(Number(tag & 7n), readVarint, take);
      this.#fields.getOrInsert(field, []).push(value);
    }
  }

  /** Empty when it is not there. */
  string(field: number): string {
    return Buffer.from(this.bytes(field)).toString('utf8');
  }

  bytes(field: number): Uint8Array {
    const value = this.#fields.get(field)?.at(-1);
    if (typeof value === 'bigint') throw new ProtobufError(`field ${field} is a number`);
    return value ?? new Uint8Array(0);
  }

  /** A signed whole number; 0 when it is not there. @throws ProtobufError beyond 2^53 */
  integer(field: number): number {
    const value = this.#fields.get(field)?.at(-1) ?? 0n;
    if (typeof value !== 'bigint') throw new ProtobufError(`field ${field} is no number`);
    const number = Number(BigInt.asIntN(64, value));
    if (!Number.isSafeInteger(number)) throw new ProtobufError(`field ${field} is too large`);
    return number;
  }

  /** Every message of a repeated field, or the one of a single field. */
  messages(field: number): ProtobufFields[] {
    return (this.#fields.get(field) ?? []).map((value) => {
      if (typeof value === 'bigint') throw new ProtobufError(`field ${field} is a number`);
      return new ProtobufFields(value);
    });
  }
}

function readValue(
  kind: number,
  readVarint: () => bigint,
  take: (length: number) => Uint8Array,
): bigint | Uint8Array {
  switch (kind) {
    case VARINT:
      return readVarint();
    case 1:
      return take(8);
    case LENGTH:
      return take(Number(readVarint()));
    case 5:
      return take(4);
    default:
      throw new ProtobufError(`wire type ${kind} is not used any more`);
  }
}
