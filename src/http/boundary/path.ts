import { ACTIONS } from '../../broker/resource/actions.ts';
import type { AnyBoundaryRoute } from '../../broker/resource/route.ts';
import { typeOfPlural } from '../../broker/resource/types.ts';

/** Endpoints that share a path, by method. */
type ByMethod = Partial<Record<string, AnyBoundaryRoute>>;

export interface BoundaryRouter {
  /**
   * @param path decoded, beginning with `/v1/`
   * @returns the endpoints of the path, or the status of the refusal, which has no body
   */
  find(path: string): { routes: ByMethod; id: string } | { refused: 400 | 404 | 405 };
}

/** Verbs of single endpoints that are no actions of grants. */
const KNOWN_VERBS: ReadonlySet<string> = new Set<string>(ACTIONS);

/**
 * Compiles the broker's endpoints. An id stands between `/v1/{plural}/` and the verb behind the
 * last colon, and may hold any character; only of `:authorize-session` also slashes.
 */
export function compileBoundaryRoutes(routes: readonly AnyBoundaryRoute[]): BoundaryRouter {
  const table = new Map<string, ByMethod>();
  const verbs = new Map<string, string[]>();
  for (const route of routes) {
    const parts = /^\/v1\/([a-z-]+)(\/\{\w+\})?(?::([a-z:-]+))?$/.exec(route.path);
    if (!parts) throw new Error(`${route.id}: ${route.path} is no path of this API`);
    const [, plural = '', item, verb = ''] = parts;
    const key = keyOf(plural, item !== undefined, verb);
    const known = table.getOrInsert(key, {});
    if (known[route.method]) throw new Error(`${route.method} ${route.path} is declared twice`);
    known[route.method] = route;
    if (item !== undefined && verb !== '') verbs.getOrInsert(plural, []).push(verb);
  }
  return {
    find(path) {
      const [first = '', ...rest] = path.slice('/v1/'.length).split('/');
      const colon = first.indexOf(':');
      const plural = colon < 0 ? first : first.slice(0, colon);
      if (typeOfPlural(plural) === undefined) return { refused: 404 };
      if (rest.length === 0) {
        const verb = colon < 0 ? '' : first.slice(colon + 1);
        const found = table.get(keyOf(plural, false, verb));
        return found ? { routes: found, id: '' } : { refused: refusalOf(verb) };
      }
      const id = rest.join('/');
      const verb = (verbs.get(plural) ?? []).find((known) => id.endsWith(`:${known}`));
      if (rest.length > 1 && verb !== 'authorize-session') return { refused: 404 };
      if (verb !== undefined) {
        const routes = table.get(keyOf(plural, true, verb)) ?? {};
        return { routes, id: id.slice(0, -verb.length - 1) };
      }
      const unknown = id.includes(':') ? id.slice(id.lastIndexOf(':') + 1) : '';
      const found = unknown === '' ? table.get(keyOf(plural, true, '')) : undefined;
      return found ? { routes: found, id } : { refused: refusalOf(unknown) };
    },
  };
}

const keyOf = (plural: string, item: boolean, verb: string): string => `${plural} ${item} ${verb}`;

/** @see B-2 */
function refusalOf(verb: string): 400 | 405 {
  return verb === '' || KNOWN_VERBS.has(verb) ? 405 : 400;
}

/** Characters that print, and the blank. */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;

/**
 * The path of a request target of the broker's API: decoded once, before it is split.
 *
 * @returns undefined when it cannot be decoded or holds what does not print
 * @see B-1
 */
export function decodeBoundaryPath(target: string): string | undefined {
  const mark = target.indexOf('?');
  const written = mark < 0 ? target : target.slice(0, mark);
  if (!written.includes('%')) return PRINTABLE.test(written) ? written : undefined;
  try {
    const path = decodeURIComponent(written);
    return PRINTABLE.test(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a request target leads to the broker's API rather than to a mount. */
export function isBoundaryTarget(target: string): boolean {
  const segment = /^\/v1\/([^/?]*)/.exec(target)?.[1];
  if (segment === undefined) return false;
  const word = segment.includes('%') ? (decodeBoundaryPath(segment) ?? '') : segment;
  const end = word.search(/[:/]/);
  return typeOfPlural(end < 0 ? word : word.slice(0, end)) !== undefined;
}
