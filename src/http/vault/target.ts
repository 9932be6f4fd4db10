import { SERVER_MOUNT } from '../../access/system-caller.ts';
import type { FormedSegment } from '../../acl/name-form.ts';
import type { App } from '../../app/app.ts';
import type { Mount } from '../../app/mount.ts';
import type { AnyRoute, Method } from '../../app/route.ts';
import { invalid } from '../../core/failure.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { type Soon, whenThere } from '../../core/steps.ts';
import { readMounts, requireSystemMount } from '../../mounts/operations.ts';
import { LIST_AS_PARSED } from '../list-verb.ts';
import { type CanonicalPath, listRawTails } from './path.ts';
import { findMount, type Match, type PathRouter } from './router.ts';

/** The compiled routes of every engine. */
export interface VaultRouters {
  system: PathRouter;
  secret: ReadonlyMap<string, PathRouter>;
  auth: ReadonlyMap<string, PathRouter>;
}

/** Where a path leads: the mount, and what is declared there. */
export interface Target {
  mount: Mount;
  /** Of its engine; undefined where that has none. */
  router: PathRouter | undefined;
  /** The path beneath the mount, with its leading slash. */
  rest: string;
  match: Match | undefined;
  /** Names in the whole path that have more spellings than one. */
  formed: readonly FormedSegment[];
}

/** What a request asks for, by its verb and `?list=`; undefined for a verb that nothing has. */
export function methodOf(method: string, query: URLSearchParams): Method | undefined {
  switch (method) {
    case 'GET':
    case 'HEAD':
      return asksForList(query) ? 'LIST' : 'GET';
    case LIST_AS_PARSED:
    case 'LIST':
      return 'LIST';
    case 'POST':
    case 'PUT':
      return 'POST';
    case 'PATCH':
      return 'PATCH';
    case 'DELETE':
      return 'DELETE';
    default:
      return undefined;
  }
}

/**
 * Whether a request asks what may be asked for at its path, as the command lines' `path-help` does, and not for
 * that itself; whatever its verb is.
 *
 * @param target path and query as they came
 */
export function asksForHelp(target: string): boolean {
  const mark = target.indexOf('?');
  if (mark < 0) return false;
  return new URLSearchParams(target.slice(mark + 1)).getAll('help').some((value) => value !== '');
}

function asksForList(query: URLSearchParams): boolean {
  const asked = query.get('list');
  if (asked === null || asked === '') return false;
  if (/^(1|t|true)$/i.test(asked)) return true;
  if (/^(0|f|false)$/i.test(asked)) return false;
  throw invalid('query parameter "list" must be true or false');
}

export function chooseRoute(match: Match, method: Method | undefined): AnyRoute | undefined {
  return method && match.routes[method];
}

/**
 * A path whose rest is one text with slashes of its own: only where the part before it is
 * canonical and leads to an endpoint that takes such a rest.
 */
export function findRawTail(
  app: App,
  routers: VaultRouters,
  url: string,
): Soon<CanonicalPath | undefined> {
  if (app.barrier.sealed) return undefined;
  const tails = listRawTails(url, rawWords(routers.secret));
  return tails.length === 0 ? undefined : chooseRawTail(app, routers, tails);
}

async function chooseRawTail(
  app: App,
  routers: VaultRouters,
  tails: ReturnType<typeof listRawTails>,
): Promise<CanonicalPath | undefined> {
  for (const { head, tail } of tails) {
    const hit = findMount(await readMounts(app), head);
    const routes = hit?.mount.kind === 'secret' ? routers.secret.get(hit.mount.type) : undefined;
    if (hit && routes?.raw_rests.has(hit.rest)) {
      return { path: `${head}/${tail}`, slash: false, query: new URLSearchParams() };
    }
  }
  return undefined;
}

/** The words of all engines that such a rest may follow. */
const rawWords = memoizeWeak((engines: VaultRouters['secret']): readonly string[] => {
  const paths = [...engines.values()].flatMap(({ raw_rests }) => [...raw_rests]);
  return [...new Set(paths.map((path) => path.slice(path.lastIndexOf('/') + 1)))];
});

/** Where a path leads; undefined where nothing is mounted. */
export function locate(app: App, routers: VaultRouters, path: string): Soon<Target | undefined> {
  if (path === 'sys' || path.startsWith('sys/')) return locateSystem(app, routers, path);
  if (app.barrier.sealed) return undefined;
  return whenThere(readMounts(app), (mounts) => locateIn(mounts, routers, path));
}

async function locateSystem(app: App, routers: VaultRouters, path: string): Promise<Target> {
  const rest = path.slice('sys'.length) || '/';
  const match = routers.system.find(rest);
  const formed = shifted(match, 'sys');
  // Before the first start is finished there are no mounts, and sys/ must answer all the same.
  const mount = app.barrier.sealed && match ? SERVER_MOUNT : await requireSystemMount(app);
  return { mount, router: routers.system, rest, match, formed };
}

function locateIn(
  mounts: ReadonlyMap<string, Mount>,
  routers: VaultRouters,
  path: string,
): Target | undefined {
  const hit = findMount(mounts, path);
  if (!hit) return undefined;
  const { mount, rest } = hit;
  const router = (mount.kind === 'auth' ? routers.auth : routers.secret).get(mount.type);
  const match = router?.find(rest);
  return { mount, router, rest, match, formed: shifted(match, path.slice(0, -rest.length)) };
}

/** The names in a path that have more spellings than one, wherever it leads. */
export async function findNames(
  app: App,
  routers: VaultRouters,
  path: string,
): Promise<readonly FormedSegment[]> {
  return (await locate(app, routers, path.replace(/\/$/, '')))?.formed ?? [];
}

/** A match's names, counted from the beginning of the whole path. */
function shifted(match: Match | undefined, before: string): readonly FormedSegment[] {
  if (!match || match.formed.length === 0) return [];
  const offset = before.split('/').length;
  return match.formed.map(({ at, form }) => ({ at: at + offset, form }));
}
