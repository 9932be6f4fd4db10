import findMyWay, { type HTTPVersion, type Instance } from 'find-my-way';
import type { Mount } from '../mounts/mount.ts';
import type { AnyRoute, Method } from './route.ts';

/** Routes of one path, by method. */
export type PathRoutes = Partial<Record<Method, AnyRoute>>;

export interface Match {
  routes: PathRoutes;
  params: Readonly<Record<string, string>>;
}

/** Finds the routes of a path; methods are told apart afterwards, so that 404 and 405 differ. */
export interface PathRouter {
  /** @param path decoded, canonical, with its leading slash and without the mount */
  find(path: string): Match | undefined;
}

/** A name in a path (contract 1.9); what does not look so is no path of ours. */
const NAME = /^\w(?:[\w.-]*\w)?$/;

/** Compiles the routes of one engine. `prefix` is what their declared paths have before the mount's own. */
export function compileRoutes(routes: readonly AnyRoute[], prefix: string): PathRouter {
  const byPattern = new Map<string, PathRoutes>();
  for (const route of routes) {
    if (!route.path.startsWith(prefix)) throw new Error(`${route.id}: path must begin ${prefix}`);
    const pattern = route.path
      .slice(prefix.length)
      .replace(/\{(\w+)\+\}$/, '*')
      .replaceAll(/:/g, '::')
      .replaceAll(/\{(\w+)\}/g, ':$1');
    const known = byPattern.get(pattern) ?? {};
    if (known[route.method]) throw new Error(`${route.method} ${route.path} is declared twice`);
    known[route.method] = route;
    byPattern.set(pattern, known);
  }
  const router: Instance<HTTPVersion.V1> = findMyWay({
    caseSensitive: true,
    maxParamLength: 8192,
  });
  for (const [pattern, found] of byPattern) {
    const store: { routes: PathRoutes } = { routes: found };
    router.on('GET', pattern, nothing, store);
  }
  return {
    find(path) {
      // The router decodes percent signs and cuts at `?`, `;` and `#`; the path is decoded
      // already, so its own are escaped.
      const hit = router.find('GET', /[%?;#]/.test(path) ? escapePath(path) : path);
      if (!hit) return undefined;
      const found = (hit.store as { routes: PathRoutes }).routes;
      const params = namedParams(found, hit.params);
      return params && { routes: found, params };
    },
  };
}

const escapePath = (path: string): string =>
  path.replace(/[%?;#]/g, (character) => encodeURIComponent(character));

function nothing(): void {}

function namedParams(
  routes: PathRoutes,
  found: Readonly<Record<string, string | undefined>>,
): Record<string, string> | undefined {
  const route = Object.values(routes)[0];
  const params: Record<string, string> = {};
  for (const [key, value = ''] of Object.entries(found)) {
    const name = key === '*' ? (/\{(\w+)\+\}$/.exec(route?.path ?? '')?.[1] ?? key) : key;
    const form = route?.path_forms?.[name] ?? (key === '*' ? undefined : NAME);
    if (form && !form.test(value)) return undefined;
    params[name] = value;
  }
  return params;
}

/** A mount and the rest of a path beneath it. */
export interface MountHit {
  mount: Mount;
  /** With its leading slash. */
  rest: string;
}

/**
 * Finds the mount that a path belongs to. Mounts never nest, so the first that fits is the one.
 *
 * @param mounts by path as clients write it: `pki/`, `auth/userpass/`
 * @param path canonical, after `/v1/`
 */
export function findMount(mounts: ReadonlyMap<string, Mount>, path: string): MountHit | undefined {
  for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
    const mount = mounts.get(path.slice(0, slash + 1));
    if (mount) return { mount, rest: path.slice(slash) };
  }
  const mount = mounts.get(`${path}/`);
  return mount && { mount, rest: '/' };
}
