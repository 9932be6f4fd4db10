import { isOid } from '../../x509/der.ts';

/** An otherName as requests and roles write it: `<oid>;UTF8:<value>`. */
export interface OtherSan {
  oid: string;
  value: string;
}

/**
 * Reads an other SAN, e.g. `1.3.6.1.4.1.311.20.2.3;UTF8:user@example.com`. The type is `UTF8`
 * or `UTF-8` in any case; the value may hold further semicolons and colons.
 *
 * @returns what it says, or why it says nothing
 */
export function parseOtherSan(text: string): OtherSan | { because: string } {
  const semicolon = text.indexOf(';');
  const shown = JSON.stringify(text.slice(0, 100));
  if (semicolon < 0) return { because: `expected a semicolon in other SAN ${shown}` };
  const colon = text.indexOf(':', semicolon + 1);
  if (colon < 0) return { because: `expected a colon in other SAN ${shown}` };
  const oid = text.slice(0, semicolon).trim();
  const type = text
    .slice(semicolon + 1, colon)
    .trim()
    .toLowerCase();
  const value = text.slice(colon + 1).trim();
  if (type !== 'utf8' && type !== 'utf-8') {
    return { because: `only utf8 other SANs are supported; found non-supported type in ${shown}` };
  }
  if (!isOid(oid)) return { because: `${shown} does not begin with an object identifier` };
  if (value === '') return { because: `the value is missing in other SAN ${shown}` };
  return { oid, value };
}
