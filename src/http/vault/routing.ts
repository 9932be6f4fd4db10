import { requireAllowed } from '../../access/standing/operations.ts';
import { type Acl, judgeAccess } from '../../acl/acl.ts';
import type { App } from '../../app/app.ts';
import type { Mount } from '../../app/mount.ts';
import type { AnyRoute, Method } from '../../app/route.ts';
import { headersForRecord } from '../../audit/request-headers/operations.ts';
import { Failure } from '../../core/failure.ts';
import { type Soon, whenThere } from '../../core/steps.ts';
import type { Exchange } from '../dialect.ts';
import { refuseNamespace } from '../request-headers.ts';
import { OPERATION, tracePath } from '../request-record.ts';
import { refuseForeignPage } from './foreign-pages.ts';
import { type CanonicalPath, canonicalisePath } from './path.ts';
import type { AskedPath } from './permission.ts';
import type { Match } from './router.ts';
import {
  asksForHelp,
  chooseRoute,
  findRawTail,
  locate,
  methodOf,
  type Target,
  type VaultRouters,
} from './target.ts';

/** Where a request is routed to, and by which words. */
export interface FoundRoute {
  path: string;
  query: URLSearchParams;
  method: Method | undefined;
  target: Target | undefined;
  route: AnyRoute | undefined;
  /** It is asked what may be asked for: then there is no route. */
  asks_help: boolean;
  /** Its path as policies judge it. */
  asked: AskedPath;
}

/** Finds the route of a request, and notes it. @throws Failure for what is no path */
export function findVaultRoute(
  app: App,
  routers: VaultRouters,
  exchange: Exchange,
): Soon<FoundRoute> {
  const { url, method: verb } = exchange.request;
  return whenThere(findRawTail(app, routers, url), (raw) => {
    const read = raw ?? canonicalisePath(url);
    const method = methodOf(verb, read.query);
    return whenThere(locate(app, routers, read.path), (target) =>
      noteFound(app, exchange, { ...read, method, target }),
    );
  });
}

function noteFound(
  app: App,
  { request, trace }: Exchange,
  { path, slash, query, method, target }: CanonicalPath & Pick<FoundRoute, 'method' | 'target'>,
): Soon<FoundRoute> {
  const asks_help = asksForHelp(request.url);
  const route = asks_help ? undefined : target?.match && chooseRoute(target.match, method);
  const routes = target?.match?.routes;
  tracePath(trace, { mount: target?.mount, routes, path, route, method });
  const asked = {
    path: method === 'LIST' || slash ? `${path}/` : path,
    formed: target?.formed ?? [],
  };
  const found = { path, query, method, target, route, asks_help, asked };
  if (app.barrier.sealed) return found;
  return whenThere(headersForRecord(app, request.raw_headers), (headers) => {
    trace.record.headers = headers;
    return found;
  });
}

/** @throws Failure for what is refused whoever asks */
export function requireHead({ request }: Exchange, { route }: FoundRoute): void {
  refuseNamespace(request);
  refuseForeignPage(route, request);
}

/** An endpoint, and what a request says of it. */
export interface FoundEndpoint extends Omit<FoundRoute, 'target' | 'asks_help'> {
  mount: Mount;
  match: Match;
  route: AnyRoute;
  method: Method;
}

/**
 * What is not there is told only to those who might have used it.
 *
 * @param acl what whoever asks is permitted
 */
export function requireEndpoint(found: FoundRoute, acl: Acl | undefined): Soon<FoundEndpoint> {
  const { path, query, method, target, route, asked } = found;
  const { mount, match } = target ?? {};
  if (mount && match && route && method) {
    return { path, query, method, route, asked, mount, match };
  }
  return refuseMissing(found, acl);
}

/** As {@link requireEndpoint}, of what is not there. */
export async function refuseMissing(
  { path, method, target, asked }: Pick<FoundRoute, 'path' | 'method' | 'target' | 'asked'>,
  acl: Acl | undefined,
): Promise<never> {
  const { mount, match } = target ?? {};
  const operation = OPERATION[method ?? 'GET'];
  const judged = { ...asked, operation, sudoRequired: false };
  if (acl) requireAllowed(await judgeAccess(acl, judged));
  if (!mount) throw unrouted(path);
  throw match
    ? new Failure('unsupported', 'unsupported operation')
    : new Failure('not_found', 'unsupported path');
}

export function unrouted(path: string): Failure {
  return new Failure('not_found', `no handler for route "${path}". route entry not found.`);
}
