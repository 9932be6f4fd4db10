import { Failure } from '../core/failure.ts';

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
  const [token, ...others] = listTokens(request);
  if (others.length > 0) {
    throw new Failure('invalid', 'the request has two tokens: send one, in one of its headers');
  }
  return token;
}

/** The tokens that a request brings in its headers, each once. */
function listTokens(request: Headed): string[] {
  const own = valuesOf(request, 'x-vault-token');
  const bearers = valuesOf(request, 'authorization').flatMap(
    (value) => BEARER.exec(value.trim())?.[1] ?? [],
  );
  return [...new Set([...own, ...bearers].filter((text) => text !== ''))];
}

/** The one token of a request; undefined also where there are two. */
export function findToken(request: Headed): string | undefined {
  const [token, ...others] = listTokens(request);
  return others.length > 0 ? undefined : token;
}

/** @throws Failure `not_found` for any namespace but the root one */
export function refuseNamespace(request: Headed): void {
  for (const value of valuesOf(request, 'x-vault-namespace')) {
    const namespace = value.replace(/^\/|\/$/g, '');
    if (namespace !== '' && namespace !== 'root') {
      throw new Failure(
        'not_found',
        `no namespace "${namespace}": this server has the root namespace only`,
      );
    }
  }
}
