/**
 * What may stand in a template's place: a value that somebody else wrote must leave what stands
 * around it where it is, so that `{{name}}.example.com` is beneath example.com whatever the name.
 */

const LABELS = /^[\p{L}\p{M}\p{Nd}_-]+(?:\.[\p{L}\p{M}\p{Nd}_-]+)*$/u;
const ASCII_LABELS = /^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/;
const LOCAL_PART = /^[\p{L}\p{M}\p{Nd}_.+'-]+$/u;
const PERSON = /^[\p{L}\p{M}\p{Nd}_.+' -]+$/u;
/** What RFC 3986 lets stand in a segment, without what ends a user name, a port, an escape or an item of a list. */
const SEGMENT = /^[A-Za-z0-9._~!$&'()+;=-]+$/;
const WHOLE_URI = /^[!-~]+$/;
const WORD = /^[\p{L}\p{M}\p{Nd}_.@:+-]+$/u;

const isDots = (value: string): boolean => /^\.+$/.test(value);

/** Labels of a host name, with dots between them. */
export function isHostPart(value: string): boolean {
  return LABELS.test(value);
}

/** One name that nothing stands around: a host's or a mailbox. */
export function isWholeName(value: string): boolean {
  const at = value.indexOf('@');
  return at < 0
    ? LABELS.test(value)
    : LOCAL_PART.test(value.slice(0, at)) && LABELS.test(value.slice(at + 1));
}

/** As {@link isWholeName}, or what people are called. */
export function isWholeCommonName(value: string): boolean {
  return isWholeName(value) || PERSON.test(value);
}

/**
 * Part of a URI: labels where its host is, one segment behind it.
 *
 * @param before the URI up to there, filled in
 */
export function isUriPart(value: string, before: string): boolean {
  const scheme = before.indexOf('://');
  const isInHost = scheme < 0 ? !before.includes(':') : !/[/?#]/.test(before.slice(scheme + 3));
  if (isInHost) return ASCII_LABELS.test(value);
  // One value of a query stays one.
  if (before.includes('?') && /[&;=+]/.test(value)) return false;
  return SEGMENT.test(value) && !isDots(value);
}

/** A URI that nothing stands around; it is no pattern, and no list. */
export function isWholeUri(value: string): boolean {
  return WHOLE_URI.test(value) && !/[*,\\"<>^`{|}]/.test(value);
}

/** A word of a command or of a log's line: no option, no path, no end of a text. */
export function isWord(value: string): boolean {
  return WORD.test(value) && !value.startsWith('-') && !isDots(value);
}
