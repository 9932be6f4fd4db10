import type { FormedSegment } from '../../acl/name-form.ts';
import type { Mount } from '../../app/mount.ts';
import type { AnyRoute, Method } from '../../app/route.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';

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
  /** Paths that a rest may follow whose slashes are its own, as it came. */
  readonly raw_rests: ReadonlySet<string>;
}

/** A name in a path; what does not look so is no path of ours. */
const NAME = /^\w(?:[\w.-]*\w)?$/;

/** Longer names are none: no path leads there. */
const LONGEST_NAME = 8192;

/** Compiles the routes of one engine. `prefix` is what their declared paths have before the mount's own. */
export function compileRoutes(routes: readonly AnyRoute[], prefix: string): PathRouter {
  const byPath = new Map<string, PathRoutes>();
  for (const route of routes) {
    if (!route.path.startsWith(prefix)) throw new Error(`${route.id}: path must begin ${prefix}`);
    const path = route.path.slice(prefix.length);
    const known = byPath.getOrInsert(path, {});
    if (known[route.method]) throw new Error(`${route.method} ${route.path} is declared twice`);
    known[route.method] = route;
  }
  const root = newNode();
  for (const [path, found] of byPath) {
    const formed = formedSegments(found, prefix);
    plant(root, path, { routes: found, formed, names: readNames(found, prefix) });
  }
  const raw = routes.filter(({ raw_rest }) => raw_rest).map(({ path }) => path);
  return {
    routes,
    prefix,
    raw_rests: new Set(raw.map((path) => path.slice(prefix.length, path.lastIndexOf('/')))),
    find(path) {
      const values: string[] = [];
      const leaf = descend(root, path, 1, values);
      const params = leaf && namedParams(leaf.names, values);
      return params && { routes: leaf.routes, formed: leaf.formed, params };
    },
  };
}

/** A name in a declared path, `{name}` or `{name+}`, and what it may hold; absent: anything. */
interface PathName {
  name: string;
  form: RegExp | undefined;
}

interface Leaf extends Pick<Match, 'routes' | 'formed'> {
  names: readonly PathName[];
}

/** What may follow upon a slash. */
interface Node {
  fixed: Map<string, Node>;
  named: Node | undefined;
  /** Where the rest of the path is one name. */
  rest: Leaf | undefined;
  /** Where the path ends before the slash. */
  leaf: Leaf | undefined;
}

const newNode = (): Node => ({
  fixed: new Map(),
  named: undefined,
  rest: undefined,
  leaf: undefined,
});

const WHOLE_NAME = /^\{\w+\}$/;
const REST = /^\{\w+\+\}$/;

function plant(root: Node, path: string, leaf: Leaf): void {
  let node = root;
  const segments = path.slice(1).split('/');
  const isRest = REST.test(segments.at(-1) ?? '');
  for (const segment of isRest ? segments.slice(0, -1) : segments) {
    const next = WHOLE_NAME.test(segment) ? node.named : node.fixed.get(segment);
    const child = next ?? newNode();
    if (WHOLE_NAME.test(segment)) node.named = child;
    else if (/[{}]/.test(segment)) throw new Error(`${path}: a name is a whole segment`);
    else node.fixed.set(segment, child);
    node = child;
  }
  const end = isRest ? 'rest' : 'leaf';
  if (node[end]) throw new Error(`${path}: declared by other names, too`);
  node[end] = leaf;
}

/**
 * Finds where a path ends: at each slash a word that is declared goes before a name, and a name before a rest.
 *
 * @param from where the segment begins that is looked at
 * @param values of the names on the way, which are added to
 */
function descend(node: Node, path: string, from: number, values: string[]): Leaf | undefined {
  const slash = path.indexOf('/', from);
  const segment = slash < 0 ? path.slice(from) : path.slice(from, slash);
  const child = node.fixed.get(segment);
  const fixed = child && goOn(child, path, slash, values);
  if (fixed) return fixed;
  const { length } = values;
  if (node.named && segment.length <= LONGEST_NAME) {
    values.push(segment);
    const named = goOn(node.named, path, slash, values);
    if (named) return named;
    values.length = length;
  }
  if (node.rest) values.push(path.slice(from));
  return node.rest;
}

/** @param slash before what may follow, or below 0 */
function goOn(next: Node, path: string, slash: number, values: string[]): Leaf | undefined {
  return slash < 0 ? next.leaf : descend(next, path, slash + 1, values);
}

function readNames(routes: PathRoutes, prefix: string): PathName[] {
  const [route] = Object.values(routes);
  const path = route?.path.slice(prefix.length) ?? '';
  return [...path.matchAll(/\{(\w+)(\+?)\}/g)].map(([, name = '', rest]) => {
    const form = route?.path_forms?.[name] ?? (rest ? undefined : NAME);
    return { name, form };
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

function namedParams(
  names: readonly PathName[],
  values: readonly string[],
): Record<string, string> | undefined {
  const params: Record<string, string> = {};
  let at = 0;
  for (const { name, form } of names) {
    const value = values[at] ?? '';
    at += 1;
    if (form && !form.test(value)) return undefined;
    params[name] = value;
  }
  return params;
}

/** A mount and the rest of a path beneath it. */
interface MountHit {
  mount: Mount;
  /** With its leading slash. */
  rest: string;
}

/** Looked up alone where a mount can end: each look-up reads all of the path before it, which may have 4,000 slashes. */
const lengthsOf = memoizeWeak(
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
