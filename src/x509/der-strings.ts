/** Character strings of DER, as text. */

import { TAG } from './der.ts';
import { type DerValue, malformed } from './der-reader.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const utf16 = new TextDecoder('utf-16be', { fatal: true, ignoreBOM: true });

// X.680 §41.4, with "*" and "&", which so many certificates carry that everybody reads them.
const PRINTABLE = /^[A-Za-z0-9 '()+,\-./:=?*&]*$/;

/**
 * A character string of any type that certificates use, as text. NUL is refused in all of them:
 * no name has it, and it has been used to make two readers see two names.
 */
export function readString(value: DerValue): string {
  const text = decodeString(value);
  if (text === undefined)
    throw malformed(value.offset, 'a string with characters its type does not have');
  if (text.includes('\0')) throw malformed(value.offset, 'a string with a NUL character');
  return text;
}

/** ASCII text of an implicitly tagged IA5String. */
export function readAscii(value: DerValue): string {
  const { content } = value;
  for (const byte of content) {
    if (byte === 0 || byte >= 0x80)
      throw malformed(value.offset, 'a string with characters its type does not have');
  }
  return latin1(content);
}

const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');

function decodeString({ tag, content, offset }: DerValue): string | undefined {
  switch (tag) {
    case TAG.utf8String:
      return decodeUnicode(utf8, content);
    case TAG.printableString: {
      const text = latin1(content);
      return PRINTABLE.test(text) ? text : undefined;
    }
    case TAG.numericString: {
      const text = latin1(content);
      return /^[0-9 ]*$/.test(text) ? text : undefined;
    }
    case TAG.ia5String:
    case TAG.visibleString:
      return content.every((byte) => byte < 0x80) ? latin1(content) : undefined;
    case TAG.teletexString:
      // T.61 in the standard, ISO 8859-1 in every certificate that uses it.
      return latin1(content);
    case TAG.bmpString:
      return decodeUnicode(utf16, content);
    case TAG.universalString:
      return decodeUniversal(content);
    default:
      throw malformed(offset, `tag 0x${tag.toString(16)} where a string is expected`);
  }
}

function decodeUnicode(decoder: TextDecoder, content: Uint8Array): string | undefined {
  try {
    return decoder.decode(content);
  } catch {
    return undefined;
  }
}

function decodeUniversal(content: Uint8Array): string | undefined {
  if (content.length % 4 !== 0) return undefined;
  const view = new DataView(content.buffer, content.byteOffset, content.length);
  let text = '';
  for (let at = 0; at < content.length; at += 4) {
    const point = view.getUint32(at);
    if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) return undefined;
    text += String.fromCodePoint(point);
  }
  return text;
}
