import type { IncomingMessage } from 'node:http';
import { LIST_AS_PARSED } from './list-verb.ts';
import type { HttpResponse } from './response.ts';

/** What is refused of requests whatever they say, where it is not a dialect that refuses it: outside the API, and at the end. */

/** Verbs that the parser knows and that mean something here, and whether a body comes with them. */
const VERBS: Readonly<Record<string, { hasBody: boolean }>> = {
  GET: { hasBody: false },
  HEAD: { hasBody: false },
  TRACE: { hasBody: false },
  [LIST_AS_PARSED]: { hasBody: false },
  DELETE: { hasBody: true },
  OPTIONS: { hasBody: true },
  PATCH: { hasBody: true },
  POST: { hasBody: true },
  PUT: { hasBody: true },
  QUERY: { hasBody: true },
};

/** `type "/" subtype *( ";" … )` of RFC 9110 §8.3.1, with spaces around it. */
const MEDIA_TYPE = /^\s*[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+\s*(?:;|$)/;

/** @returns undefined for a request that can be looked at further */
export function refuseOutside({ method = '', headers }: IncomingMessage): HttpResponse | undefined {
  const verb = Object.hasOwn(VERBS, method) ? VERBS[method] : undefined;
  if (!verb) return refuseVerb(method);
  const type = headers['content-type'];
  if (!verb.hasBody || (type === undefined && method !== 'QUERY')) return undefined;
  return MEDIA_TYPE.test(type ?? '') ? undefined : refuseType();
}

function refuseVerb(method: string): HttpResponse {
  const body = { message: `Route ${method}:/ not found`, error: 'Not Found', statusCode: 404 };
  const headers = { 'content-type': 'application/json; charset=utf-8' };
  return { status: 404, headers, body: JSON.stringify(body) };
}

function refuseType(): HttpResponse {
  const body = '{"errors":["bad request"]}\n';
  return { status: 400, headers: { 'content-type': 'application/json' }, body };
}

/** For requests that come while the server closes. */
export function refuseClosing(): HttpResponse {
  const error = 'Service Unavailable';
  const headers = { 'content-type': 'application/json', connection: 'close' };
  return {
    status: 503,
    headers,
    body: JSON.stringify({ error, message: error, statusCode: 503 }),
  };
}
