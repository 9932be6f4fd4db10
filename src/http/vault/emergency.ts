import type { App } from '../../app/app.ts';
import { Failure } from '../../core/failure.ts';
import { sealUnrecorded } from '../../seal/operations.ts';
import { UNRECORDED } from '../../seal/routes.ts';
import { findSealer } from '../../seal/sealing.operations.ts';
import type { RequestContext } from '../request-record.ts';
import type { HttpResponse } from '../response.ts';
import { asksForHelp } from './target.ts';
import { encodeAnswer } from './wire.ts';

/**
 * Seals the server for somebody who could not be looked up since the database cannot be asked, and who
 * was permitted to seal when it last could.
 *
 * @param error why the request was not answered
 * @returns undefined for any other request, and for anybody else
 */
export async function sealWithoutDatabase(
  app: App,
  request: { method: string; url: string; text: string | undefined },
  trace: RequestContext,
  error: unknown,
): Promise<HttpResponse | undefined> {
  const { method, url, text } = request;
  const isSealing =
    /^(?:POST|PUT)$/.test(method) && /^\/v1\/sys\/seal(?:\?|$)/.test(url) && !asksForHelp(url);
  const isRefusal = error instanceof Failure && error.kind !== 'unavailable';
  if (!isSealing || isRefusal || trace.caller || text === undefined || app.barrier.sealed) return;
  const token = findSealer(app, text, trace.record.remote_address);
  if (!token) return undefined;
  trace.token = token;
  trace.record = { ...trace.record, route: 'seal', operation: 'update', path: 'sys/seal' };
  await sealUnrecorded(app, trace);
  return encodeAnswer(
    { warnings: [UNRECORDED] },
    { id: trace.request_id, mount_type: 'system', warnings: [] },
  );
}
