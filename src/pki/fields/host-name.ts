import { domainInAscii, domainInUnicode, LONGEST_DOMAIN } from '../../core/domain-names.ts';

/** A label of letters, digits and inner hyphens. @see RFC 1123 §2.1 */
const LABEL = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/;
const WILDCARD_LABEL = /^[A-Za-z0-9-]*\*[A-Za-z0-9-]*$/;
const ASCII_ONLY = /^[\x20-\x7e]*$/;
/** RFC 1035 §2.3.4, less the root's empty label. */
const MAX_NAME = 253;
const MAX_LABEL = 63;

/**
 * The ASCII form of a host name, in which labels of other scripts are A-labels. Letter case of
 * ASCII labels and one trailing dot are kept.
 *
 * @returns `undefined` when it is no host name: a label is empty, too long, or has other
 *   characters than letters, digits and inner hyphens; an A-label does not decode; a character
 *   of another script may not stand in a domain name
 * @see RFC 5890 §2.3.2.1, RFC 5891 §5, Unicode TR46 §4.2 (ToASCII, non-transitional)
 * @see P-39
 */
export function toAsciiHostName(name: string): string | undefined {
  if (name.length > LONGEST_DOMAIN) return undefined;
  const dot = name.endsWith('.') ? '.' : '';
  const labels: string[] = [];
  let length = -1;
  for (const label of (dot ? name.slice(0, -1) : name).split('.')) {
    const ascii = toAsciiLabel(label);
    if (ascii === undefined) return undefined;
    labels.push(ascii);
    length += 1 + ascii.length;
    if (length > MAX_NAME) return undefined;
  }
  return labels.join('.') + dot;
}

/** Four numbers, as an IPv4 address is written. */
const ADDRESS = /^(?:\d{1,3}\.){3}\d{1,3}\.?$/;

/**
 * {@link toAsciiHostName} of a name that may begin with a whole wildcard label, `*.`, and is no address: one among
 * DNS names is taken for a host by some clients, and by others for nothing.
 *
 * @see P-257
 */
export function toAsciiDnsName(name: string): string | undefined {
  if (ADDRESS.test(name)) return undefined;
  if (!name.startsWith('*.')) return toAsciiHostName(name);
  const beneath = toAsciiHostName(name.slice(2));
  return beneath === undefined || beneath.length + 2 > MAX_NAME ? undefined : `*.${beneath}`;
}

/** Says whether the label has exactly one `*`, alone or with letters, digits and hyphens beside it. */
export function isWildcardLabel(label: string): boolean {
  return (
    label.length <= MAX_LABEL &&
    WILDCARD_LABEL.test(label) &&
    !label.startsWith('-') &&
    !label.endsWith('-') &&
    // A "*" within an A-label stands for no letter of its script (RFC 6125 §7.2).
    !isALabel(label)
  );
}

export function isAscii(text: string): boolean {
  return ASCII_ONLY.test(text);
}

function toAsciiLabel(label: string): string | undefined {
  if (isAscii(label)) {
    if (!LABEL.test(label)) return undefined;
    return isALabel(label) && !decodes(label) ? undefined : label;
  }
  // The converter reads numbers as addresses, "%41" as a letter and "。" as a dot; none of these
  // may pass, so its result has to be one A-label.
  if (!isPlainUnicodeLabel(label)) return undefined;
  const ascii = domainInAscii(label);
  return isALabel(ascii) && LABEL.test(ascii) ? ascii : undefined;
}

function isALabel(label: string): boolean {
  return label.slice(0, 4).toLowerCase() === 'xn--';
}

function decodes(label: string): boolean {
  const unicode = domainInUnicode(label);
  return (
    !isAscii(unicode) &&
    isPlainUnicodeLabel(unicode) &&
    domainInAscii(unicode) === label.toLowerCase()
  );
}

/** No ASCII but letters, digits and inner hyphens, none of these in third and fourth place. */
function isPlainUnicodeLabel(label: string): boolean {
  return (
    /^[A-Za-z0-9\u0080-\u{10ffff}-]+$/u.test(label) &&
    !label.startsWith('-') &&
    !label.endsWith('-') &&
    label.slice(2, 4) !== '--'
  );
}
