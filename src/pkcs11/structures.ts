import { getRawPointer } from 'node:ffi';

/** Bytes of a CK_ULONG, and of a pointer. */
export const ULONG = 8;

/** What each structure points to: it stays where it is as long as the structure is held. */
const held = new WeakMap<Buffer, readonly Uint8Array[]>();

/** A CK_ULONG of its own. */
export function ulong(value: bigint): Buffer {
  const bytes = Buffer.alloc(ULONG);
  bytes.writeBigUInt64LE(value);
  return bytes;
}

/** A structure of numbers and pointers; bytes stand for a pointer to them. */
export function structureOf(...fields: readonly (number | bigint | Uint8Array)[]): Buffer {
  const bytes = Buffer.alloc(fields.length * ULONG);
  for (const [at, field] of fields.entries()) {
    bytes.writeBigUInt64LE(wordOf(field), at * ULONG);
  }
  const pointedTo = fields.filter((field) => field instanceof Uint8Array);
  held.set(bytes, pointedTo);
  return bytes;
}

function wordOf(field: number | bigint | Uint8Array): bigint {
  if (!(field instanceof Uint8Array)) return BigInt(field);
  return field.length === 0 ? 0n : getRawPointer(field);
}

/** An array of CK_ATTRIBUTE. */
export function attributeTemplate(
  attributes: readonly { type: number; value: Uint8Array }[],
): Buffer {
  return structureOf(...attributes.flatMap(({ type, value }) => [type, value, value.length]));
}
