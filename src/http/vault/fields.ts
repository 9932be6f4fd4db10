import type { AnyRoute, Method } from '../../app/route.ts';
import { Failure } from '../../core/failure.ts';
import type { Soon } from '../../core/steps.ts';
import {
  looksLikeJson,
  parseFormBody,
  parseJsonBody,
  readQuery,
  UNAUTHENTICATED_BOUNDS,
} from '../json.ts';
import { type HttpRequest, header } from '../request.ts';

const PUBLIC_BODY = 64 * 1024;
const PRIVATE_BODY = 1024 * 1024;

/** The fields of body or query, as they were sent. */
export function readFields(
  request: HttpRequest,
  route: AnyRoute,
  method: Method,
  query: URLSearchParams,
): Soon<Record<string, unknown>> {
  const isInQuery = method === 'GET' || method === 'LIST' || method === 'DELETE';
  if (isInQuery && route.body !== 'bytes') return readQuery(query);
  return readBody(request, route, method);
}

async function readBody(
  request: HttpRequest,
  route: AnyRoute,
  method: Method,
): Promise<Record<string, unknown>> {
  const limit = route.max_body ?? (route.access === 'public' ? PUBLIC_BODY : PRIVATE_BODY);
  if (route.body === 'bytes') {
    try {
      return { body: await request.readBody(limit) };
    } catch (error) {
      const isTooLong = error instanceof Failure && error.kind === 'too_large';
      if (!isTooLong || !route.drop_long_body) throw error;
      return { body: new Uint8Array(0) };
    }
  }
  const type = (header(request, 'content-type') ?? '').split(';')[0]?.trim().toLowerCase();
  if (method === 'PATCH' && type !== 'application/merge-patch+json') {
    throw new Failure(
      'unsupported_media_type',
      'PATCH requires Content-Type of application/merge-patch+json',
    );
  }
  const body = await request.readBody(limit);
  if (body.length === 0) return {};
  const keep = (bytes: number): void => request.keep(bytes);
  return type === 'application/x-www-form-urlencoded' && !looksLikeJson(body)
    ? parseFormBody(body, keep)
    : parseJsonBody(body, route.access === 'public' ? UNAUTHENTICATED_BOUNDS : {}, keep);
}
