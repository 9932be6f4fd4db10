import { createCipheriv, createDecipheriv } from 'node:crypto';

/**
 * The form of every secret at rest: AES-256-GCM (NIST SP 800-38D) with the place it belongs
 * to as associated data, so that a value moved to another row, column or table does not open.
 *
 *     version  1 byte, 1
 *     key id   4 bytes, big endian: which generation of data keys sealed it; 0: none of them
 *     nonce    12 bytes
 *     ciphertext, as long as the plaintext
 *     tag      16 bytes
 */
const VERSION = 1;
const KEY_ID_AT = 1;
const NONCE_AT = 5;
const HEADER = NONCE_AT + 12;
const TAG = 16;

export const NONCE_LENGTH = 12;
export const KEY_LENGTH = 32;
/** Bytes an envelope has more than its content. */
export const ENVELOPE_OVERHEAD = HEADER + TAG;

/** Where a sealed value lives. `row` identifies the row for good: a primary key, not a name. */
export interface EnvelopeContext {
  table: string;
  column: string;
  row: string;
}

/**
 * Seals a value for its place.
 *
 * @param input.key    32 bytes
 * @param input.key_id 0 to 2^32 - 1
 * @param input.nonce  12 bytes, never used twice with one key
 */
export function sealEnvelope(input: {
  key: Uint8Array;
  key_id: number;
  nonce: Uint8Array;
  place: EnvelopeContext;
  plaintext: Uint8Array;
}): Uint8Array {
  const { key, key_id, nonce, place, plaintext } = input;
  if (nonce.length !== NONCE_LENGTH) throw new RangeError('a nonce has 12 bytes');
  if (!Number.isInteger(key_id) || key_id < 0 || key_id > 0xffffffff) {
    throw new RangeError('a key id is a 32-bit number');
  }
  const sealed = new Uint8Array(HEADER + plaintext.length + TAG);
  sealed[0] = VERSION;
  new DataView(sealed.buffer).setUint32(KEY_ID_AT, key_id);
  sealed.set(nonce, NONCE_AT);

  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(associatedData(sealed, place));
  sealed.set(cipher.update(plaintext), HEADER);
  cipher.final();
  sealed.set(cipher.getAuthTag(), HEADER + plaintext.length);
  return sealed;
}

/**
 * The generation that a value was sealed with.
 *
 * @returns undefined if the bytes are no envelope of a version known here
 */
export function envelopeKeyId(sealed: Uint8Array): number | undefined {
  if (sealed.length < ENVELOPE_OVERHEAD || sealed[0] !== VERSION) return undefined;
  return new DataView(sealed.buffer, sealed.byteOffset, sealed.length).getUint32(KEY_ID_AT);
}

/**
 * Opens what {@link sealEnvelope} made.
 *
 * @returns undefined if the key, the place or any bit is another than at sealing
 */
export function openEnvelope(input: {
  key: Uint8Array;
  place: EnvelopeContext;
  sealed: Uint8Array;
}): Uint8Array | undefined {
  const { key, place, sealed } = input;
  if (envelopeKeyId(sealed) === undefined) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(NONCE_AT, HEADER), {
    authTagLength: TAG,
  });
  decipher.setAAD(associatedData(sealed, place));
  decipher.setAuthTag(sealed.subarray(sealed.length - TAG));
  const opened = decipher.update(sealed.subarray(HEADER, sealed.length - TAG));
  try {
    decipher.final();
  } catch {
    opened.fill(0);
    return undefined;
  }
  return opened;
}

/** Each part with its length, so that no two places have the same bytes. */
function associatedData(sealed: Uint8Array, place: EnvelopeContext): Uint8Array {
  const parts = [place.table, place.column, place.row].flatMap((part) => {
    const bytes = Buffer.from(part, 'utf8');
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat([sealed.subarray(0, NONCE_AT), ...parts]);
}
