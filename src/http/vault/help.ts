import type { Acl } from '../../acl/acl.ts';
import { RuleWalk } from '../../acl/rule-walk.ts';
import type { App } from '../../app/app.ts';
import { fullPath } from '../../app/mount.ts';
import type { AnyRoute } from '../../app/route.ts';
import { memoizeWeak } from '../../core/memoize-weak.ts';
import { COMPATIBLE_VERSION } from '../../core/version.ts';
import type { Exchange } from '../dialect.ts';
import type { DocumentedApi } from '../documented-api.ts';
import { draftInTurns, writeDrafted } from '../drafting.ts';
import { buildOpenApi, Draft } from '../openapi.ts';
import type { HttpResponse } from '../response.ts';
import type { Asker } from './asker.ts';
import { VAULT_STYLE } from './documented.ts';
import { describePath, describeRoot, listRoutes, patternOf } from './help-text.ts';
import type { PathRouter } from './router.ts';
import { type FoundRoute, refuseMissing } from './routing.ts';
import type { Target } from './target.ts';
import { canSee } from './visible-mounts.ts';

/**
 * Says what may be asked for at a path, or of a whole mount, from what is declared there. Nothing is run.
 * As upstream it takes a token, any, where the path itself does; which mounts there are is told to those
 * alone who may see them.
 *
 * @param found with no route: the path's operations are all meant
 * @throws Failure as for whatever else is asked for at such a path
 */
export async function answerHelp(
  app: App,
  { trace }: Exchange,
  found: FoundRoute,
  { known }: Asker,
): Promise<HttpResponse> {
  const acl = known?.acl;
  const target = found.target && (await isTold(found.target, acl)) ? found.target : undefined;
  const { mount, router, match, rest = '' } = target ?? {};
  if (!mount || !router || !(match || rest === '/')) {
    return refuseMissing({ ...found, target }, acl);
  }
  const routes = match && rest !== '/' ? listRoutes(match.routes) : undefined;
  const pattern = routes?.[0] ? patternOf(routes[0], router.prefix) : '';
  // Nobody has looked what the names in a path are: its record has the declared one.
  trace.record = { ...trace.record, route: HELP, path: `${fullPath(mount)}${pattern}` };
  const body = routes
    ? bodyOf(describePath(rest.slice(1), routes, router.prefix), documentOf(router, routes))
    : bodyOf(describeRoot(mount, router.routes, router.prefix), await wholeOf(router));
  const { token } = trace;
  if (token) await app.audit.note({ ...trace, token }, { status: 'done' });
  else app.audit.count(HELP);
  return { status: 200, headers: { 'content-type': 'application/json' }, body };
}

const HELP = 'help';

/** Those that every server has. */
const ALWAYS_THERE: readonly string[] = ['system', 'identity', 'cubbyhole', 'token'];

async function isTold({ mount, match }: Target, acl: Acl | undefined): Promise<boolean> {
  const isOpen = match && listRoutes(match.routes).some(({ access }) => access === 'public');
  if (isOpen || ALWAYS_THERE.includes(mount.type)) return true;
  return canSee(acl, mount, new RuleWalk());
}

function bodyOf(help: string, openapi: string): string {
  return `{"help":${JSON.stringify(help)},"see_also":[],"openapi":${openapi.trimEnd()}}\n`;
}

/** Paths as the engine has them, which knows of no mount. */
function apiOf({ prefix }: Pick<PathRouter, 'prefix'>, routes: readonly AnyRoute[]): DocumentedApi {
  const [, , first = ''] = prefix.split('/');
  const tag = first === 'sys' ? 'system' : first === 'auth' ? 'auth' : 'secrets';
  return { tag, style: VAULT_STYLE, prefix, at: '', routes };
}

function documentOf(router: PathRouter, routes: readonly AnyRoute[]): string {
  return JSON.stringify(buildOpenApi([apiOf(router, routes)], COMPATIBLE_VERSION));
}

/** Of an engine, written once: what is declared never changes. */
const wholeOf = memoizeWeak(async (router: PathRouter): Promise<string> => {
  const draft = new Draft();
  await draftInTurns(draft, apiOf(router, router.routes));
  return Buffer.from(await writeDrafted(draft)).toString();
});
