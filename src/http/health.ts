import { type App, perApp } from '../app/app.ts';
import { Failure } from '../core/failure.ts';
import { health } from '../seal/status.ts';
import { readSealFacts } from '../seal/unsealing.operations.ts';
import type { HttpResponse } from './response.ts';

/** Whether a request target asks how the server is, as clients of the broker do. */
export function isHealthTarget(target: string): boolean {
  return target === '/health' || target.startsWith('/health?');
}

/**
 * Well, unless it is about to stop or `sys/health` says that it is not: sealed, not initialised, or without
 * its database. Without a token and without a word more.
 */
export async function answerHealth(
  app: App,
  request: { method: string },
  closing: { readonly isClosing: boolean },
): Promise<HttpResponse> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return { status: 405, headers: {}, body: undefined };
  }
  const isWell = await checkOnce(app);
  const status = isWell && !closing.isClosing ? 200 : 503;
  return { status, headers: { 'content-type': 'application/json' }, body: '{}' };
}

/** Anybody may ask as often as they like: who asks while the database is asked hears the same. */
const checksOf = perApp((): { underWay: Promise<boolean> | undefined } => ({
  underWay: undefined,
}));

function checkOnce(app: App): Promise<boolean> {
  const checks = checksOf(app);
  checks.underWay ??= isWell(app).finally(() => {
    checks.underWay = undefined;
  });
  return checks.underWay;
}

async function isWell(app: App): Promise<boolean> {
  try {
    return health(await readSealFacts(app), {}, app.now()).status === 200;
  } catch (error) {
    if (!(error instanceof Failure)) app.log.error({ err: error }, 'a health check failed');
    return false;
  }
}
