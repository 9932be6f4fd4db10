import { Failure } from '../core/failure.ts';

/** A request's path in the one form that routing and permission see. */
export interface CanonicalPath {
  /** After `/v1/`, decoded, without a slash at its end. */
  path: string;
  /** There was a slash at the end. */
  slash: boolean;
  query: URLSearchParams;
}

const MAX_LENGTH = 8192;
const PREFIX = '/v1/';

/** OCSP requests travel as base64 in the path (RFC 6960 §A.1), with slashes of their own. */
const OCSP = /^(\/v1\/[^?]*?\/(?:unified-)?ocsp)\/([^?]+)$/;

/**
 * Brings a request's path into its one form, once, before anything is decided by it.
 * Nothing is repaired: what has two readings is refused.
 *
 * @param url path and query as they came
 * @throws Failure `invalid` saying what the path must not contain; `not_found` outside `/v1/`
 */
export function canonicalisePath(url: string): CanonicalPath {
  const mark = url.indexOf('?');
  const raw = mark < 0 ? url : url.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  if (raw.length > MAX_LENGTH) throw new Failure('invalid', `the path is longer than ${MAX_LENGTH} bytes`);
  const ocsp = OCSP.exec(raw);
  if (ocsp) {
    const [, before = '', tail = ''] = ocsp;
    const { path } = canonicalise(before);
    return { path: `${path}/${decodeTail(tail)}`, slash: false, query };
  }
  return { ...canonicalise(raw), query };
}

function canonicalise(raw: string): { path: string; slash: boolean } {
  if (!raw.startsWith(PREFIX)) throw new Failure('not_found', '');
  const text = raw.slice(PREFIX.length);
  if (/%(?:2f|5c)/i.test(text)) throw refusal('an encoded slash');
  const decoded = decode(text);
  if (/%[0-9a-f]{2}/i.test(decoded)) throw refusal('a doubly encoded character');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f\\]/.test(decoded)) throw refusal('a non-printable character or a backslash');
  const slash = decoded.endsWith('/');
  const path = slash ? decoded.slice(0, -1) : decoded;
  for (const segment of path.split('/')) {
    if (segment === '..' || segment === '.') {
      throw new Failure('invalid', 'path cannot contain relative paths: no "." or ".." segments');
    }
    if (segment === '') throw refusal('an empty segment');
  }
  return { path, slash };
}

function decodeTail(tail: string): string {
  const decoded = decode(tail);
  // Base64 in either alphabet; anything else is left for the responder to refuse as malformed.
  return /^[A-Za-z0-9+/=_-]*$/.test(decoded) ? decoded : '-';
}

function decode(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    throw refusal('a percent sequence that is not UTF-8');
  }
}

function refusal(what: string): Failure {
  return new Failure('invalid', `path cannot contain ${what}`);
}
