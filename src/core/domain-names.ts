import { domainToASCII, domainToUnicode } from 'node:url';

/** As somebody may write one: characters of other scripts can vanish in the conversion, or become one. */
export const LONGEST_DOMAIN = 1024;
/** RFC 1035 §2.3.4. */
const MAX_LABEL = 63;
/** Characters that become one: a letter and its marks, or parts of one. */
const MOST_PARTS = 4;
/** What vanishes; joiners stay where two letters are not to be joined otherwise. */
const VANISHING = /[\p{Default_Ignorable_Code_Point}--[\u200c\u200d]]/gv;
/** Marks on one letter, those of half width among them. */
const MARKS = /[\p{M}\uff9e\uff9f]+/gu;
/** More than any script has (Unicode UAX #15, D4). */
const MOST_MARKS = 30;
/** In either width. */
const DOT = /[.\u3002\uff0e\uff61]/;
/** What is converted of a name: other scripts, and what stands for them in ASCII. */
const FOREIGN = /[^\x20-\x7e]|xn--/i;

/**
 * Whether a text is in plain ASCII, or short enough to be a domain name, however it is written. To convert a
 * longer one takes time by the square of its length: marks are put into order pair by pair, and a label is
 * looked through once for each of its letters that differ.
 */
export function isConvertible(text: string): boolean {
  if (text.length <= MAX_LABEL || !FOREIGN.test(text)) return true;
  if (text.length > LONGEST_DOMAIN) return false;
  const bare = text.replaceAll(VANISHING, '').toLowerCase();
  return (
    hasLabelsOf(MAX_LABEL * MOST_PARTS, bare) &&
    bare.matchAll(MARKS).every(([marks]) => isWithin(MOST_MARKS, marks)) &&
    hasLabelsOf(MAX_LABEL, bare.normalize('NFKC'))
  );
}

function hasLabelsOf(most: number, name: string): boolean {
  return name.split(DOT).every((label) => isWithin(most, label));
}

/** A character is one or two of a text's own. */
const isWithin = (most: number, text: string): boolean =>
  text.length <= most || (text.length <= 2 * most && [...text].length <= most);

/**
 * A domain name with its labels of other scripts as A-labels, in lower case.
 *
 * @returns the empty text for what is none, or too long to be one
 * @see Unicode TR46 §4.2 (ToASCII, non-transitional)
 */
export function domainInAscii(name: string): string {
  return isConvertible(name) ? domainToASCII(name) : '';
}

/** A domain name with its A-labels in their own scripts; the empty text likewise. */
export function domainInUnicode(name: string): string {
  return isConvertible(name) ? domainToUnicode(name) : '';
}

/** Of these schemes the host is a domain name, whose bytes may be escaped. */
const AUTHORITY = /^(?:(?:https?|wss?|ftp):[/\\]*|file:[/\\]{2})([^/\\?#]*)/i;
const PORT = /:\d{0,5}$/;
const ESCAPED = /(?:%[0-9a-f]{2})+/gi;

/** The URL that a text is; undefined for none, and for one whose host is too long to be converted. */
export function parseUrl(text: string): URL | undefined {
  // Blanks and controls are left out of a URL, or make it none.
  const [, authority = ''] = AUTHORITY.exec(text.replaceAll(/[\p{Cc}\s]/gu, '')) ?? [];
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(PORT, '');
  const decoded = host.replaceAll(ESCAPED, decodeBytes);
  return isConvertible(decoded) ? (URL.parse(text) ?? undefined) : undefined;
}

function decodeBytes(escaped: string): string {
  return Buffer.from(escaped.replaceAll('%', ''), 'hex').toString('utf8');
}
