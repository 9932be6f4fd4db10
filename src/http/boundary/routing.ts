import type { AnyBoundaryRoute } from '../../broker/resource/route.ts';
import { typeOfPlural } from '../../broker/resource/types.ts';
import type { CorsVerdict } from '../../core/cors.ts';
import { Failure, invalid } from '../../core/failure.ts';
import { type HttpRequest, header } from '../request.ts';
import { listTokens, requireOneToken } from '../request-headers.ts';
import { OPERATION, type RequestContext } from '../request-record.ts';
import { type BoundaryRouter, decodeBoundaryPath } from './path.ts';
import { BareFailure } from './wire.ts';

const MAX_TARGET = 16_384;

/** Where a request is routed to, and the id in its path. */
export interface FoundRoute {
  route: AnyBoundaryRoute;
  id: string;
}

/**
 * Finds the route of a request, and notes it: also of what is refused here, whoever asks.
 *
 * @throws Failure for pages of other origins, and for paths and methods that are not there
 */
export function findBoundaryRoute(
  router: BoundaryRouter,
  request: HttpRequest,
  origin: CorsVerdict,
  trace: RequestContext,
): FoundRoute {
  const path = request.url.length > MAX_TARGET ? undefined : decodeBoundaryPath(request.url);
  const found = path === undefined ? { refused: 400 as const } : router.find(path);
  const method = request.method === 'HEAD' ? 'GET' : request.method;
  const route = 'refused' in found ? undefined : found.routes[method];
  trace.route = route;
  trace.record.route = route?.id ?? '';
  trace.record.operation = operationOf(method, route);
  const isKept = !('refused' in found) && path !== undefined && !ENCODED.test(path);
  trace.record.path = isKept ? path.slice('/v1/'.length) : namedPath(path);
  if (!origin.go) throw new Failure('forbidden', 'origin not allowed');
  if ('refused' in found) throw new BareFailure(found.refused);
  if (!route) throw new BareFailure(405);
  return { route, id: found.id };
}

function operationOf(method: string, route: AnyBoundaryRoute | undefined): string {
  if (route) return route.access === 'public' ? 'update' : route.access.action;
  const known = Object.entries(OPERATION).find(([each]) => each === method);
  return known?.[1] ?? '';
}

/** In a path that is decoded: it was encoded twice, and a token in it would not be known by its form. */
const ENCODED = /%[\da-f]{2}/i;

/** Of a path that leads nowhere, or was encoded twice, the first word alone: the rest may be anything. */
function namedPath(path = ''): string {
  const word = /^\/v1\/([a-z-]+)/.exec(path)?.[1] ?? '';
  return typeOfPlural(word) === undefined ? '…' : `${word}…`;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** @throws Failure `invalid` for an id by which nobody would find a request */
export function requireCorrelationId(request: HttpRequest): void {
  const given = header(request, 'x-correlation-id');
  if (given !== undefined && !UUID.test(given)) {
    throw invalid('header "X-Correlation-Id" must be a UUID');
  }
}

/**
 * The token's text: a bearer's, another API's header, or the two halves of a browser's cookies.
 *
 * @throws Failure `invalid` for two tokens
 */
export function credentialsOf(request: HttpRequest): string {
  return requireOneToken(request) ?? cookieToken(request);
}

/** As {@link credentialsOf}, of a request that may have two tokens: both. */
export function listCredentials(request: HttpRequest): string[] {
  const tokens = listTokens(request);
  return tokens.length > 0 ? tokens : [cookieToken(request)].filter((text) => text !== '');
}

const JS_COOKIE = /(?:^|;\s*)wt-js-token-cookie=([^;\s]*)/;
const HTTP_COOKIE = /(?:^|;\s*)wt-http-token-cookie=([^;\s]*)/;

function cookieToken(request: HttpRequest): string {
  const cookies = header(request, 'cookie') ?? '';
  const js = JS_COOKIE.exec(cookies)?.[1] ?? '';
  const http = HTTP_COOKIE.exec(cookies)?.[1] ?? '';
  return js !== '' && http !== '' ? js + http : '';
}
