import type { App } from '../app/app.ts';
import { boundaryDialect } from './boundary/dialect.ts';
import type { BoundaryRouter } from './boundary/path.ts';
import { handlerOf, type RequestHandler } from './frame.ts';
import { answerHealth, isHealthTarget } from './health.ts';
import { vaultDialect } from './vault/dialect.ts';
import type { VaultRouters } from './vault/target.ts';

/** The compiled routes of every dialect. */
export interface Routers extends VaultRouters {
  boundary: BoundaryRouter;
}

/** Finds who answers a target: the first dialect that it is meant for. The last takes all that is nobody's. */
export function compileDialects(
  app: App,
  routers: Routers,
  closing: { readonly isClosing: boolean },
): (target: string) => RequestHandler {
  const vault = handlerOf(app, vaultDialect(routers));
  const health: RequestHandler = {
    ...vault,
    accepts: isHealthTarget,
    answerAtOnce: (request) => answerHealth(app, request, closing),
  };
  const handlers = [handlerOf(app, boundaryDialect(routers.boundary)), health];
  return (target) => {
    for (const handler of handlers) if (handler.accepts(target)) return handler;
    return vault;
  };
}
