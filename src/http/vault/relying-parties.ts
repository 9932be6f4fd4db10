import type { App } from '../../app/app.ts';
import type { Dialect } from '../dialect.ts';
import { handlerOf, type RequestHandler } from '../frame.ts';
import type { HttpRequest } from '../request.ts';
import { type VaultStages, vaultDialect } from './dialect.ts';
import { unrouted } from './routing.ts';
import type { VaultRouters } from './target.ts';

/**
 * Answers what relying parties read over plain HTTP. Whatever else is asked for is not there, whoever asks: a
 * token that somebody sends in clear is neither looked at nor found out about.
 *
 * @param routers compiled of the routes for relying parties alone
 */
export function compileRelyingParties(
  app: App,
  routers: VaultRouters,
): (target: string) => RequestHandler {
  const dialect = vaultDialect(routers);
  const relying: Dialect<VaultStages> = {
    ...dialect,
    requireHead: (exchange, found) => {
      dialect.requireHead(exchange, found);
      if (!found.route) throw unrouted(found.path);
    },
  };
  const handler = handlerOf(app, relying, 'relying parties');
  const open: RequestHandler = {
    ...handler,
    handle: (request) => handler.handle(withoutCredentials(request)),
    refuseUnread: (request, fault) => handler.refuseUnread(withoutCredentials(request), fault),
  };
  return () => open;
}

/** Headers that change what is answered to anybody. */
const READ = ['if-modified-since', 'content-type', 'content-length', 'transfer-encoding'] as const;

function withoutCredentials(request: HttpRequest): HttpRequest {
  const headers: Record<string, string | string[] | undefined> = {};
  for (const name of READ) headers[name] = request.headers[name];
  return { ...request, headers, raw_headers: [] };
}
