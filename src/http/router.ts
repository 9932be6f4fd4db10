import findMyWay, { type HTTPVersion, type Instance } from 'find-my-way';
import type { FormedSegment } from '../acl/name-form.ts';
import type { Mount } from '../app/mount.ts';
import type { AnyRoute, Method } from '../app/route.ts';
import { remembered } from '../core/remembered.ts';

/** Routes of one path, by method. */
export type PathRoutes = Partial<Record<Method, AnyRoute>>;

export interface Match {
  routes: PathRoutes;
  /** Names of more than one spelling, counted by segments of what was asked for. */
  formed: readonly FormedSegment[];
  params: Readonly<Record<string, string>>;
}

/** Finds the routes of a path; methods are told apart afterwards, so that 404 and 405 differ. */
export interface PathRouter {
  /** @param path decoded, canonical, with its leading slash and without the mount */
  find(path: string): Match | undefined;
  /** What it was compiled of. */
  readonly routes: readonly AnyRoute[];
  /** What all their declared paths begin with. */
  readonly prefix: string;
}

/** A name in a path; what does not look so is no path of ours. */
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
    const store: Stored = {
      routes: found,
      formed: formedSegments(found, prefix),
      names: readNames(found, prefix),
    };
    router.on('GET', pattern, nothing, store);
  }
  return {
    routes,
    prefix,
    find(path) {
      // The router decodes percent signs and cuts at `?`, `;` and `#`; the path is decoded
      // already, so its own are escaped.
      const hit = router.find('GET', /[%?;#]/.test(path) ? escapePath(path) : path);
      if (!hit) return undefined;
      const { routes: found, formed, names } = hit.store as Stored;
      const params = namedParams(names, hit.params);
      return params && { routes: found, formed, params };
    },
  };
}

/** A name in a declared path, `{name}` or `{name+}`, and what it may hold; absent: anything. */
interface PathName {
  /** What the router calls it. */
  key: string;
  name: string;
  form: RegExp | undefined;
}

interface Stored extends Pick<Match, 'routes' | 'formed'> {
  names: readonly PathName[];
}

function readNames(routes: PathRoutes, prefix: string): PathName[] {
  const [route] = Object.values(routes);
  const path = route?.path.slice(prefix.length) ?? '';
  return [...path.matchAll(/\{(\w+)(\+?)\}/g)].map(([, name = '', rest]) => {
    const form = route?.path_forms?.[name] ?? (rest ? undefined : NAME);
    return { key: rest ? '*' : name, name, form };
  });
}

/** Which segments after the prefix have a form; all operations of one path must agree on it. */
function formedSegments(routes: PathRoutes, prefix: string): FormedSegment[] {
  const [first, ...others] = Object.values(routes).map((route) =>
    route.path
      .slice(prefix.length + 1)
      .split('/')
      .flatMap((segment, at): FormedSegment[] => {
        const form = route.name_forms?.[segment.slice(1, -1)];
        return form ? [{ at, form }] : [];
      }),
  );
  if (others.some((other) => JSON.stringify(other) !== JSON.stringify(first))) {
    throw new Error(`operations of one path read its names alike: ${routes.GET?.path ?? ''}`);
  }
  return first ?? [];
}

const escapePath = (path: string): string =>
  path.replace(/[%?;#]/g, (character) => encodeURIComponent(character));

function nothing(): void {}

function namedParams(
  names: readonly PathName[],
  found: Readonly<Record<string, string | undefined>>,
): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  for (const { key, name, form } of names) {
    const value = found[key] ?? '';
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

/** Looked up alone where a mount can end: each look-up reads all of the path before it, which may have 4,000 slashes. */
const lengthsOf = remembered(
  (mounts: ReadonlyMap<string, Mount>) => new Set(Array.from(mounts.keys(), (path) => path.length)),
);

/**
 * Finds the mount that a path belongs to. Mounts never nest, so the first that fits is the one.
 *
 * @param mounts by path as clients write it: `pki/`, `auth/userpass/`
 * @param path canonical, after `/v1/`
 */
export function findMount(mounts: ReadonlyMap<string, Mount>, path: string): MountHit | undefined {
  const lengths = lengthsOf(mounts);
  for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1)) {
    if (!lengths.has(slash + 1)) continue;
    const mount = mounts.get(path.slice(0, slash + 1));
    if (mount) return { mount, rest: path.slice(slash) };
  }
  const mount = mounts.get(`${path}/`);
  return mount && { mount, rest: '/' };
}
