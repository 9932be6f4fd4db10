/** Which pages of other origins may call the broker's API. */
export interface Cors {
  /** e.g. `https://console.example.com`; `*` alone: all of them. Empty: none. */
  allowed_origins: readonly string[];
  /** Request headers besides the usual ones. */
  allowed_headers: readonly string[];
}

/** Where the desktop client's pages come from. */
export const CORS_DEFAULTS: Cors = { allowed_origins: ['serve://boundary'], allowed_headers: [] };

const METHODS: readonly string[] = ['DELETE', 'GET', 'OPTIONS', 'POST', 'PATCH'];
const HEADERS: readonly string[] = ['Content-Type', 'X-Requested-With', 'Authorization'];

export type CorsVerdict =
  /** No page of another origin asks, or one that may: the answer gets these headers. */
  | { go: true; headers: Readonly<Record<string, string>> }
  /** Answered without looking at the path: a preflight request, or a refusal. */
  | { go: false; status: 204 | 403 | 405; headers: Readonly<Record<string, string>> };

const SAME_ORIGIN: CorsVerdict = { go: true, headers: {} };

/** Says whether an origin is the server's own, as a browser writes both. */
function isOwnOrigin(origin: string, host: string | undefined): boolean {
  return !!host && (origin === `http://${host}` || origin === `https://${host}`);
}

/**
 * Says whether a browser sends a request for a page that is not of the server's own origin; other
 * clients say nothing of where they come from (Fetch standard §3.1, Fetch Metadata §2.3).
 */
export function isForeignPage(request: {
  origin: string | readonly string[] | undefined;
  host: string | undefined;
  fetch_site: string | readonly string[] | undefined;
}): boolean {
  const { origin, host, fetch_site } = request;
  if (fetch_site !== undefined && String(fetch_site).includes('cross-site')) return true;
  return origin !== undefined && origin !== '' && !isOwnOrigin(String(origin), host);
}

/**
 * Judges where a request comes from (Fetch standard, section 3.2). A page of the
 * server's own origin needs no leave.
 *
 * @param request.origin    the header, if any
 * @param request.host      the `Host` header
 * @param request.requested of a preflight request: `Access-Control-Request-Method`
 */
export function judgeOrigin(
  cors: Cors,
  request: {
    method: string;
    origin: string | undefined;
    host: string | undefined;
    requested: string | undefined;
  },
): CorsVerdict {
  const { origin, host, method, requested } = request;
  if (origin === undefined || origin === '') return SAME_ORIGIN;
  if (isOwnOrigin(origin, host)) return SAME_ORIGIN;
  const { allowed_origins, allowed_headers } = cors;
  if (!allowed_origins.includes('*') && !allowed_origins.includes(origin)) {
    return { go: false, status: 403, headers: { vary: 'Origin' } };
  }
  const headers = { 'access-control-allow-origin': origin, vary: 'Origin' };
  if (method !== 'OPTIONS' || requested === undefined) {
    const exposed = 'Retry-After, RateLimit, RateLimit-Policy';
    return { go: true, headers: { ...headers, 'access-control-expose-headers': exposed } };
  }
  if (!METHODS.includes(requested)) return { go: false, status: 405, headers };
  return {
    go: false,
    status: 204,
    headers: {
      ...headers,
      'access-control-allow-methods': METHODS.join(', '),
      'access-control-allow-headers': [...HEADERS, ...allowed_headers].join(', '),
      'access-control-max-age': '300',
    },
  };
}
