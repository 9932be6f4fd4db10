import { Failure, invalid } from '../../core/failure.ts';
import { decodePercent } from '../json.ts';

/** A request's path in the one form that routing, permission and audit all use. */
export interface CanonicalPath {
  /** Decoded, without `/v1/` and without slashes at its ends, e.g. `pki/issue/web`. */
  path: string;
  /** Whether the path ended in a slash. */
  slash: boolean;
  query: URLSearchParams;
}

/** Most bytes of path and query together. */
const MAX_LENGTH = 8192;

const PREFIX = 'v1';

/**
 * Decodes a request target once and refuses whatever could mean one thing to the router and
 * another to the policies: relative and empty segments, encoded slashes, backslashes, characters
 * that do not print, and text that a second decoding would turn into any of these. Case is kept.
 *
 * @param target path and query as they came, e.g. `/v1/pki/issuer/a%20b/json?x=1`
 * @throws Failure `invalid` saying what is wrong; `not_found` for a path that is not under `/v1/`
 * @see RFC 3986 §2.1, §3.3, §6.2.2
 * @see S-8
 */
export function canonicalisePath(target: string): CanonicalPath {
  const { path, query } = splitTarget(target);
  return { ...canonicaliseSegments(path), query: parseQuery(query) };
}

/** A path whose last part is not made of segments: base64 with its slashes. */
interface RawTail {
  /** The canonical path up to the segment before the tail, that segment included. */
  head: string;
  /** Decoded once where that is possible, as it came otherwise; `+` stays. */
  tail: string;
}

/** More places where a tail may begin are not looked at; real paths have one or two. */
const MAX_TAILS = 8;

/**
 * Finds where a path could be one that takes all the rest as one text, such as
 * `…/ocsp/<base64>` (RFC 6960 A.1), in which `//`, `%2F`, `+` and `=` are ordinary. Only the part
 * before is canonical; whoever uses a tail makes sure first that the head leads to an endpoint
 * that takes one. Anything else must go through {@link canonicalisePath}.
 *
 * @param names segments that a tail may follow, e.g. `['ocsp']`
 * @returns possible readings from left to right; a mount may have such a name too. Empty if there
 *          are none or the path is refused for its length
 */
export function listRawTails(target: string, names: readonly string[]): RawTail[] {
  if (target.length > MAX_LENGTH || !names.some((name) => target.includes(`/${name}/`))) return [];
  const { path } = splitTarget(target);
  const found: RawTail[] = [];
  for (let slash = path.indexOf('/', 1); slash >= 0; slash = path.indexOf('/', slash + 1)) {
    const segment = path.slice(path.lastIndexOf('/', slash - 1) + 1, slash);
    if (!names.includes(segment)) continue;
    const tail = path.slice(slash + 1);
    if (tail === '' || found.length === MAX_TAILS) break;
    try {
      found.push({ head: canonicaliseSegments(path.slice(0, slash)).path, tail: decodeTail(tail) });
    } catch (error) {
      // What comes before stays the same further right, so no other reading is canonical either.
      if (error instanceof Failure) break;
      throw error;
    }
  }
  return found;
}

function decodeTail(tail: string): string {
  if (!tail.includes('%')) return tail;
  try {
    return decodeURIComponent(tail);
  } catch {
    return tail;
  }
}

function splitTarget(target: string): { path: string; query: string } {
  if (target.length > MAX_LENGTH) {
    throw invalid(`path and query together have at most ${MAX_LENGTH} bytes`);
  }
  const mark = target.indexOf('?');
  return mark < 0
    ? { path: target, query: '' }
    : { path: target.slice(0, mark), query: target.slice(mark + 1) };
}

/** What a URL's path is written with (RFC 3986 §3.3); `"<>[]^`{|}` come unencoded from some clients. */
const WRITTEN = /^[!$-;=@-Z_a-z~"<>[\]^`{|}%]*$/;
/** Printable characters and the space; no separators, controls, formatting or private use. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;
/** Text that decodes to a dot, a slash, a backslash or a control character, however often. */
const ENCODED_AGAIN = /%(?:25)*(?:2[ef]|5c|[01][0-9a-f]|7f)/i;

function canonicaliseSegments(path: string): { path: string; slash: boolean } {
  if (!path.startsWith('/')) throw invalid('the path must begin with "/"');
  if (path.includes('\\')) throw invalid('the path cannot contain a backslash');
  if (!WRITTEN.test(path)) {
    throw invalid('the path contains characters that must be percent-encoded');
  }
  const slash = path.endsWith('/');
  const segments = path.slice(1, slash ? -1 : undefined).split('/');
  const decoded = path.includes('%') ? segments.map(decodeSegment) : segments;
  for (const segment of decoded) {
    if (segment === '.' || segment === '..') {
      throw invalid('path cannot contain relative paths: a segment is "." or ".."');
    }
    if (segment === '' && path !== '/') {
      throw invalid('the path cannot contain empty segments, as in "//"');
    }
  }
  if (decoded[0] !== PREFIX)
    throw new Failure('not_found', `no such path: the API is under "/v1/"`);
  return { path: decoded.slice(1).join('/'), slash };
}

function decodeSegment(written: string): string {
  if (!written.includes('%')) return written;
  const text = decodePercent('path', written);
  if (text.includes('/') || text.includes('\\')) {
    throw invalid('the path cannot contain an encoded slash or backslash');
  }
  if (!PRINTABLE.test(text)) throw invalid('the path cannot contain characters that do not print');
  if (text.includes('%') && ENCODED_AGAIN.test(text)) {
    throw invalid('the path is percent-encoded twice');
  }
  return text;
}

/**
 * Reads a query, `a=1&b=two+words`.
 *
 * @throws Failure `invalid` for percent-encoding that is not valid, or not of UTF-8
 */
function parseQuery(query: string): URLSearchParams {
  if (query === '') return new URLSearchParams();
  // URLSearchParams would put a replacement character in the place of what it cannot read.
  decodePercent('query', query);
  return new URLSearchParams(query);
}
