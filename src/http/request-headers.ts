import { Failure, invalid } from '../core/failure.ts';

/** What of a request says who asks, and about which namespace. */
interface Headed {
  /** Names and values by turns, as they came. */
  raw_headers: readonly string[];
}

/** Every value that a header has, in their order: taking one of two leaves out what was sent. */
function valuesOf({ raw_headers }: Headed, name: string): string[] {
  const values: string[] = [];
  for (let at = 0; at + 1 < raw_headers.length; at += 2) {
    const each = raw_headers[at] ?? '';
    if (each.length === name.length && each.toLowerCase() === name) {
      values.push(raw_headers[at + 1] ?? '');
    }
  }
  return values;
}

const BEARER = /^bearer\s+(\S+)$/i;

/**
 * The token that a request brings in either of its headers.
 *
 * @throws Failure `invalid` for two that differ: one API would take the one, the other the other
 */
export function requireOneToken(request: Headed): string | undefined {
  const token = readToken(request);
  if (token === TWO) throw invalid('the request has two tokens: send one, in one of its headers');
  return token;
}

const TWO = Symbol('two tokens');

/** The token that a request brings in its headers, however often it does. */
function readToken({ raw_headers }: Headed): string | undefined | typeof TWO {
  let token: string | undefined;
  for (let at = 0; at + 1 < raw_headers.length; at += 2) {
    const text = tokenIn(raw_headers[at] ?? '', raw_headers[at + 1] ?? '');
    if (text === '' || text === token) continue;
    if (token !== undefined) return TWO;
    token = text;
  }
  return token;
}

/**
 * The tokens that a request brings in its headers, of more than two the first two: whoever sends several is refused,
 * and named by what they have sent.
 */
export function listTokens({ raw_headers }: Headed): string[] {
  const tokens: string[] = [];
  for (let at = 0; at + 1 < raw_headers.length && tokens.length < 2; at += 2) {
    const text = tokenIn(raw_headers[at] ?? '', raw_headers[at + 1] ?? '');
    if (text !== '' && !tokens.includes(text)) tokens.push(text);
  }
  return tokens;
}

/** Both headers' names are of 13 letters: others need not be looked at. */
function tokenIn(name: string, value: string): string {
  if (name.length !== OWN.length) return '';
  const header = name.toLowerCase();
  if (header === OWN) return value;
  return header === 'authorization' ? (BEARER.exec(value.trim())?.[1] ?? '') : '';
}

const OWN = 'x-vault-token';

/** The one token of a request; undefined also where there are two. */
export function findToken(request: Headed): string | undefined {
  const token = readToken(request);
  return token === TWO ? undefined : token;
}

/** @throws Failure `not_found` for any namespace but the root one */
export function refuseNamespace(request: Headed): void {
  for (const value of valuesOf(request, 'x-vault-namespace')) {
    const namespace = value.replace(/^\/|\/$/g, '');
    if (namespace !== '' && namespace !== 'root') {
      // Not repeated: any text may stand in a header, and the words are recorded.
      throw new Failure('not_found', 'no such namespace: this server has the root namespace only');
    }
  }
}
