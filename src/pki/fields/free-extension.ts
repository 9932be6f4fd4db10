import { Failure } from '../../core/failure.ts';
import { isOid, tlv } from '../../x509/der.ts';
import { readDer, requireWellFormed } from '../../x509/der-reader.ts';
import type { Extension } from '../../x509/extensions.ts';

/** Bytes of one value. */
const MAX_VALUE = 4_096;
const UTF8_STRING = 0x0c;

/** What has fields of its own, or is for the issuer to say: id-ce, id-pe, Microsoft's SID, signed timestamps. */
const RESERVED = ['2.5.29.', '1.3.6.1.5.5.7.1.', '1.3.6.1.4.1.311.25.2.', '1.3.6.1.4.1.11129.2.4.'];

/** Whether a role may let requests fill in an extension of this kind. */
export function isFreeOid(text: string): boolean {
  return isOid(text) && RESERVED.every((arc) => !`${text}.`.startsWith(arc));
}

/**
 * Reads an extension as requests write it: `<oid>;UTF8:<text>`, or `<oid>;DER:<base64>` of a whole value.
 *
 * @returns the extension, never critical, or why there is none
 */
export function parseFreeExtension(written: string): Extension | { because: string } {
  const shown = JSON.stringify(written.slice(0, 100));
  const found = /^([0-9.]{1,256});(UTF8|UTF-8|DER):/i.exec(written);
  if (!found)
    return { because: `expected "<oid>;UTF8:<text>" or "<oid>;DER:<base64>" in ${shown}` };
  const [{ length }, oid = '', kind = ''] = found;
  if (!isFreeOid(oid)) return { because: `no extension of the kind ${oid} can be asked for` };
  const rest = written.slice(length);
  if (rest.length > 2 * MAX_VALUE) return { because: `the value is too long in ${shown}` };
  const value = kind.toUpperCase() === 'DER' ? readValue(rest) : utf8String(rest);
  if (!value) return { because: `the value is no base64 of one DER value in ${shown}` };
  if (value.length > MAX_VALUE) return { because: `the value is too long in ${shown}` };
  return { oid, critical: false, value };
}

const utf8String = (text: string): Uint8Array => tlv(UTF8_STRING, Buffer.from(text, 'utf8'));

function readValue(base64: string): Uint8Array | undefined {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(base64)) {
    return undefined;
  }
  const der = new Uint8Array(Buffer.from(base64, 'base64'));
  try {
    requireWellFormed(readDer(der));
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
  return der;
}
