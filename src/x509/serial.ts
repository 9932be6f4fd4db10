/** Serial numbers of certificates: bytes inside, colon hex wherever people see them. */

import { withoutLeadingZeros } from './der.ts';

/** Longest serial number that is accepted, in bytes; what we issue has the 20 of RFC 5280 §4.1.2.2. */
export const MAX_SERIAL_BYTES = 64;

/**
 * The text form clients see, e.g. `17:ab:09`.
 *
 * @param magnitude big-endian bytes; leading zeros are left out
 */
export function formatSerial(magnitude: Uint8Array): string {
  return formatColonHex(withoutLeadingZeros(magnitude));
}

/** Each byte as a lower-case pair behind a colon. */
const COLON_PAIRS = Array.from(
  { length: 256 },
  (_, byte) => `:${byte.toString(16).padStart(2, '0')}`,
);

/** Bytes as lower-case pairs with colons between, as key identifiers are shown. */
export function formatColonHex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += COLON_PAIRS[byte];
  return text.slice(1);
}

const PAIRS = /^[0-9a-f]{2}(?:([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2})*)?$/i;
const DIGITS = /^[0-9a-f]+$/i;

/**
 * The bytes of a serial number as clients write it: `17:ab:09`, `17-ab-09` or `17ab09`, any case.
 *
 * @returns the magnitude without leading zeros, or undefined when the text is no serial number
 */
export function parseSerial(text: string): Uint8Array | undefined {
  if (text.length > 3 * (MAX_SERIAL_BYTES + 1)) return undefined;
  if (!PAIRS.test(text) && !DIGITS.test(text)) return undefined;
  const digits = text.replaceAll(/[:-]/g, '');
  const bytes = Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex');
  const magnitude = withoutLeadingZeros(bytes);
  return magnitude.length <= MAX_SERIAL_BYTES ? magnitude : undefined;
}

/** What {@link formatSerial} writes. */
const OWN_FORM = /^(?!00:)[0-9a-f]{2}(?::[0-9a-f]{2})*$/;

/**
 * The one text of a serial number, from any that {@link parseSerial} reads. Most come as we gave them out.
 *
 * @returns undefined when the text is no serial number
 */
export function canonicaliseSerial(text: string): string | undefined {
  if (text.length < 3 * MAX_SERIAL_BYTES && OWN_FORM.test(text)) return text;
  const magnitude = parseSerial(text);
  return magnitude && formatSerial(magnitude);
}

/**
 * The quick way back from the text that {@link formatSerial} makes, for a million of them.
 *
 * @param into takes the magnitude, {@link MAX_SERIAL_BYTES} long
 * @returns the part of `into` that was written, or undefined for any other text
 */
export function decodeSerial(text: string, into: Uint8Array): Uint8Array | undefined {
  const count = (text.length + 1) / 3;
  if (!Number.isInteger(count) || count > into.length) return undefined;
  for (let index = 0, at = 0; index < count; index++, at += 3) {
    const high = digitOf(text.charCodeAt(at));
    const low = digitOf(text.charCodeAt(at + 1));
    const isSeparated = index === 0 || text.charCodeAt(at - 1) === COLON;
    if (high < 0 || low < 0 || !isSeparated) return undefined;
    into[index] = (high << 4) | low;
  }
  return into.subarray(0, count);
}

const COLON = 0x3a;

/** The value of a lower-case hex digit; -1: it is none. */
function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
}
