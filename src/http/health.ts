import type { App } from '../app.ts';
import type { Dressed } from './dressed.ts';

/** Whether a request target asks how the server is, as clients of the broker do. */
export function isHealthTarget(target: string): boolean {
  return target === '/health' || target.startsWith('/health?');
}

/** Well, unless it is sealed or about to stop; without a token and without a word more. */
export function answerHealth(app: App, request: { method: string }, isClosing: boolean): Dressed {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return { status: 405, headers: {}, body: undefined };
  }
  const status = isClosing || app.barrier.sealed ? 503 : 200;
  return { status, headers: { 'content-type': 'application/json' }, body: '{}' };
}
